# What making and reading fixtures share. PROGRAM is tokenkeep; the working directory has the kind's vault. To be read by `.`.
# A machine with an id of its own, whatever the real one has: pending changes belong to a machine. Needs root.
export LC_ALL=C.UTF-8 TZ=UTC
unset DBUS_SESSION_BUS_ADDRESS XDG_DATA_HOME TOKENKEEP_PASSWORD_FILE
both=$'any sufficient secret-service\nany required vault'
alone="any required vault"

machine() {
    printf '%032d\n' 35 >machine-id
    mount --bind machine-id /etc/machine-id
    export HOME="$PWD/home" XDG_CONFIG_HOME="$PWD/config" XDG_RUNTIME_DIR="$PWD/run" TOKENKEEP_VAULT="$PWD/vault"
    mkdir -p -m 700 home run config
}

# Takes the vault's keys out of the kernel, as a start of the machine does.
forget() { [ ! -e "$TOKENKEEP_VAULT/current/keyfile" ] || python3 "$TESTS/CLI/keys.py" forget "$TOKENKEEP_VAULT" >/dev/null; }

# From then on the Secret Service counts as used on this machine: its absence is an outage.
use_service() { python3 "$TESTS/CLI/silent_bus.py" "$PROGRAM" load nobody nobody --stack "$both" --timeout 300ms >/dev/null 2>&1; }

# Runs the program, and shows the command, what it prints but for its advice on passwords, and its exit code.
run() {
    echo "\$ tokenkeep ${*//$'\n'/; }"
    "$PROGRAM" "$@" 2>&1 | sed -E '/can try as many passwords/d; s/since [0-9TZ: -]+/since .../; s/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]+Z?/TIME/g; s|'"$PWD"'|.|g'
    echo "[exit ${PIPESTATUS[0]}]"
}

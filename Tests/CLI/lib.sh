# Shared by all scenarios. WORK is the scenario's own directory, TOKENKEEP the program.

# A test that waits in vain ends after so many seconds: patience.py says why.
PATIENCE=$(sed -n 's/^PATIENCE = //p' "$HERE/../Support/patience.py")

# Says what the following lines are about.
title() { printf '\n## %s\n' "$*"; }

# Runs the program; shows the command, its output, its standard error marked with "! ", and its exit code.
run() {
    local code
    printf '$ tokenkeep'
    [ $# = 0 ] || printf ' %q' "$@"
    echo
    "$TOKENKEEP" "$@" >"$WORK/tmp/out" 2>"$WORK/tmp/err"
    code=$?
    show "$code"
}

# Runs the program like run, but keeps its output in the file named first instead of showing it.
run_into() {
    local file=$1 code
    shift
    printf '$ tokenkeep'
    printf ' %q' "$@"
    printf ' > %s\n' "${file##*/}"
    "$TOKENKEEP" "$@" >"$file" 2>"$WORK/tmp/err"
    code=$?
    : >"$WORK/tmp/out"
    show "$code"
}

# Runs the program like run, while strace makes up an error of the kernel: refused CALL:error=NAME[:when=N] PATH COMMAND...
# The path is that of a file or directory to which the calls belong; an empty one is any.
refused() {
    local program=$TOKENKEEP call=$1 path=$2
    printf '#!/bin/bash\nexec strace -f -qq -o /dev/null -e trace=%s -e inject=%s %s %q "$@"\n' \
        "${call%%:*}" "$call" "${path:+-P $path}" "$program" >"$WORK/tmp/refused"
    chmod 755 "$WORK/tmp/refused"
    shift 2
    TOKENKEEP="$WORK/tmp/refused"
    run "$@"
    TOKENKEEP=$program
}

show() {
    cat "$WORK/tmp/out"
    # A last line without its newline is made visible, and ended.
    [ ! -s "$WORK/tmp/out" ] || [ "$(tail -c1 "$WORK/tmp/out" | od -An -tx1)" = " 0a" ] || echo '\'
    sed 's/^/! /' "$WORK/tmp/err"
    echo "[exit $1]"
}

# From then on the secret service counts as used on this machine: its absence is an outage.
use_service() { python3 "$HERE/silent_bus.py" "$TOKENKEEP" load nobody nobody --stack "$1"; }

# Ends the bus whose process is in bus.pid. At its end it removes its socket, be that of the next bus at the same place.
end_bus() {
    kill "$(cat bus.pid)"
    tail -f /dev/null -s 0.02 --pid="$(cat bus.pid)"
    rm bus.pid
}

# Stops a process (SIGSTOP), and waits until each of its threads has stopped: on a busy machine others run on meanwhile.
stop_process() {
    kill -STOP "$1"
    while grep -hqsv ') [TtZX] ' /proc/"$1"/task/*/stat; do :; done
}

# Sets the clock to one moment after the other for which a process waits in vain, until it has ended.
pass_limits() { while test-clock pass "$1" 25 2>/dev/null; do :; done; }

# Starts a server of Tests/Servers and waits for its first line: start_server FILE PROGRAM. The file gets its lines. Its process
# is $started afterwards.
start_server() {
    mkdir -p served
    : >"$1" # before the server has it
    python3 "$HERE/../Servers/$2" served >>"$1" &
    started=$!
    tail -n +1 -f "$1" --pid="$started" | head -n 1 >/dev/null
}

# Starts the tests' authorization server, whose process is $server, and makes the folder of providers.
serve() {
    mkdir -p config/tokenkeep/providers.d
    start_server ports lying_server.py
    server=$started
}

# The port of that server for a scheme: http or https.
port() { sed -E "s/.*\b$1=([0-9]+).*/\1/" ports; }

# Waits for the next second of the machine's clock since its start, by which programs date sign-ins.
next_second() {
    local began now
    read -r began _ </proc/uptime
    until read -r now _ </proc/uptime && [ "${now%.*}" -gt "${began%.*}" ]; do sleep 0.02; done
}

# Says whether two files are the same, byte for byte.
same() {
    if cmp -s -- "$1" "$2"; then echo "same bytes: $(stat -c %s "$1")"; else echo "DIFFERENT: $(cmp -- "$1" "$2" 2>&1)"; fi
}

# The version of an item, as list --json shows it.
version_of() {
    "$TOKENKEEP" list "$1" --json | python3 -c '
import json, sys
print(next(item["version"] for item in json.load(sys.stdin)["items"] if item["account"] == sys.argv[1]))' "$2"
}

# Drives the program on a terminal of its own: see terminal.py.
on_terminal() { python3 "$HERE/terminal.py" "$@" || exit 1; }

# The directory of the era in force, of a vault; of the scenario's own, where none is named.
era() { readlink -f "${1-$TOKENKEEP_VAULT}/current"; }

# Another process holds the vault's lock until release_lock: of the item with this ID, else of everything. A number is where the
# lock's bytes begin, as for the rights to ask.
hold_lock() {
    mkfifo held release
    python3 - "$TOKENKEEP_VAULT/lock" "$@" <<'PYTHON' &
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    if len(sys.argv) > 2:
        first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        offset = int.from_bytes(bytes.fromhex(sys.argv[2])[:8], "little") & (1 << 62) - 1
        fcntl.lockf(file, fcntl.LOCK_EX, 1, first + offset)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX)
    with open("held", "w") as held:
        held.write("yes\n")
    with open("release", "rb") as release:
        release.read()
PYTHON
    read -r _ <held
}

# Runs the program like run, with a timeout of 60 s, which passes once the program waits for the vault's lock, or that of LOCK_FILE:
# what it does before, such as the derivation of a key, has the time that it needs.
run_held() {
    local call file
    file=$(python3 "$HERE/../Support/locks.py" "${LOCK_FILE:-$TOKENKEEP_VAULT/lock}")
    exec 3<&0
    run "$@" --timeout 60s <&3 3<&- &
    call=$!
    exec 3<&-
    until grep -q -e "-> .* $file " /proc/locks || ! kill -0 "$call" 2>/dev/null; do :; done
    test-clock advance 60
    wait "$call"
}

release_lock() {
    : >release
    wait
    rm held release
}

# place_vault COPY: a copy of it in the place of the vault, in one step. Programs of other scenarios end the keys of a vault
# that is gone, if only for a moment.
place_vault() {
    rm -rf "$WORK/tmp/placed" && cp -a "$1" "$WORK/tmp/placed" &&
        python3 "$HERE/../Support/exchange.py" "$WORK/tmp/placed" "$TOKENKEEP_VAULT" &&
        rm -r "$WORK/tmp/placed"
}

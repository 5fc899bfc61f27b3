#!/bin/sh
# Tests the agent. Usage: run.sh AGENT [fuzz SECONDS SEED | model HISTORIES SEED | program PROGRAM [TEST…] | TEST…]
# A TEST is as test_keys.Revocation or test_locks.Locks.test_….
# As root the tests run as a user of their own, since the kernel's keyring belongs to the user. dbus-daemon wants the
# user to have a name: a mount namespace has an /etc of its own, with one more line in passwd.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
agent=$(realpath "$1")
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# The same sources under AddressSanitizer, and the clock that tests move.
# shellcheck disable=SC2046
gcc -Wall -Wextra -Werror -g -O1 -fsanitize=address,undefined -I"$root/Sources/CSystemShims/include" \
    "$root"/Sources/agent/*.c "$root/Sources/CSystemShims/keyring.c" "$root/Sources/CSystemShims/agent_client.c" \
    "$root/Sources/CSystemShims/clock.c" "$root/Sources/CSystemShims/socket_client.c" -o "$work/checked" \
    $(pkg-config --cflags --libs libsystemd)
gcc -Wall -Wextra -Werror -O1 -shared -fPIC "$here/still_clock.c" -o "$work/still-clock.so"
install -m 755 "$agent" "$work/agent"
cp "$here"/*.py "$root/Tests/Support/listening.py" "$root/Tests/Support/patience.py" "$work"
export INSTALLED="$work/agent" CHECKED="$work/checked" STILL_CLOCK="$work/still-clock.so"

as_user=""
if [ "$(id -u)" -eq 0 ]; then
    user=$((61000 + $$ % 4000))
    mkdir "$work/etc"
    cp /etc/ld.so.cache /etc/nsswitch.conf /etc/group /etc/passwd /etc/localtime "$work/etc"
    cp -r /etc/python3* /etc/dbus-1 /etc/alternatives "$work/etc" 2> /dev/null || true
    echo "tokenkeep-test:x:$user:$user::/:/bin/sh" >> "$work/etc/passwd"
    cat > "$work/as-user" << END
#!/bin/sh
mount --bind "$work/etc" /etc
exec setpriv --reuid=$user --regid=$user --clear-groups "\$@"
END
    chmod 755 "$work/as-user"
    as_user="unshare --mount $work/as-user"
fi
case ${1-} in
fuzz) shift; $as_user /usr/bin/python3 "$work/fuzz.py" "$work/checked" "$@" ;;
program)
    program=$(realpath "$2")
    shift 2
    mkdir -p "$work/bin" "$work/libexec/tokenkeep"
    install -m 755 "$program" "$work/bin/tokenkeep"
    cp "$root/data/systemd/tokenkeep-sync.service.in" "$work"
    ln "$work/agent" "$work/libexec/tokenkeep/tokenkeep-agent"
    # The program's limits last a hundred times as long; tests pass those that must end.
    # shellcheck disable=SC2016
    TOKENKEEP_SLOWNESS=100 "$root/Tests/Support/Clock/run.sh" sh -c '
        cp "$(dirname "$(command -v test-clock)")"/* "$0" && LD_PRELOAD=$0/preload.so PATH=$0:$PATH exec "$@"' \
        "$work" $as_user /usr/bin/python3 "$work/program.py" "$work/agent" "$work/bin/tokenkeep" "$@"
    ;;
model) shift; $as_user /usr/bin/python3 "$work/model.py" "$work/agent" "$@" ;;
*)
    if [ $# -eq 0 ]; then
        gcc -Wall -Wextra -Werror -O2 -I"$root/Sources/CSystemShims/include" "$here"/lock_rules*.c \
            "$root"/Sources/agent/lock_*.c -o "$work/lock-rules"
        "$work/lock-rules" "$root/docs/screen-lock.md"
    fi
    # shellcheck disable=SC2086
    $as_user sh -c 'cd "$0" && exec /usr/bin/python3 -W ignore::ImportWarning -m unittest "$@"' "$work" ${*:-test_keys test_locks test_services}
    [ -z "$as_user" ] || /usr/bin/python3 "$work/strangers.py" "$work/agent" "$user"
    ;;
esac

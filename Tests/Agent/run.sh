#!/bin/sh
# Tests the agent. Usage: run.sh AGENT [fuzz SECONDS SEED | model HISTORIES SEED | program PROGRAM [TEST…] | TEST…]
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
# The same sources with short times and a signal in place of a step of the clock, under AddressSanitizer.
# shellcheck disable=SC2046
gcc -Wall -Wextra -Werror -g -O1 -fsanitize=address,undefined -DTOKENKEEP_AGENT_TEST -DAGENT_KEY_S=3 \
    -DAGENT_RENEWAL_S=1 -DAGENT_WAIT_S=2 -DAGENT_LOGIN1_S=1 -DAGENT_CALL_S=1 -DAGENT_DRAIN_S=1 -I"$root/Sources/CSystemShims/include" \
    "$root"/Sources/agent/*.c "$root/Sources/CSystemShims/keyring.c" "$root/Sources/CSystemShims/agent_client.c" "$root/Sources/CSystemShims/clock.c" "$root/Sources/CSystemShims/socket_client.c" -o "$work/quick" \
    $(pkg-config --cflags --libs libsystemd)
install -m 755 "$agent" "$work/agent"
cp "$here"/*.py "$root/Tests/Support/listening.py" "$work"

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
fuzz) shift; $as_user /usr/bin/python3 "$work/fuzz.py" "$work/quick" "$@" ;;
program)
    program=$(realpath "$2")
    shift 2
    mkdir -p "$work/bin" "$work/libexec/tokenkeep"
    install -m 755 "$program" "$work/bin/tokenkeep"
    cp "$root/data/systemd/tokenkeep-sync.service.in" "$work"
    ln "$work/agent" "$work/libexec/tokenkeep/tokenkeep-agent"
    $as_user /usr/bin/python3 "$work/program.py" "$work/agent" "$work/quick" "$work/bin/tokenkeep" "$@"
    ;;
model) shift; $as_user /usr/bin/python3 "$work/model.py" "$work/agent" "$@" ;;
*)
    $as_user /usr/bin/python3 "$work/tests.py" "$work/agent" "$work/quick" "$@"
    if [ $# -eq 0 ]; then
        $as_user /usr/bin/python3 "$work/units.py" "$work/agent"
        gcc -Wall -Wextra -Werror -O1 -shared -fPIC -DSPEED=600 "$here/fast_clock.c" -o "$work/fast_clock.so"
        $as_user /usr/bin/python3 "$work/wakes.py" "$work/agent" "$work/fast_clock.so"
    fi
    [ -z "$as_user" ] || /usr/bin/python3 "$work/strangers.py" "$work/agent" "$user"
    ;;
esac

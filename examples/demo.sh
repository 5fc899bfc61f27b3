#!/bin/sh
# Shows what TokenKeep does, in a vault of its own that is removed again. Ends with an error where anything is not as it
# should be. Usage: demo.sh PREFIX
set -eu
prefix=$(cd "$1" && pwd)
examples=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$examples/c/save-load-clear.c" "$work"
cd "$work"
# Relative: what pkg-config prints must hold no space, wherever this lies.
ln -s "$prefix" prefix
PKG_CONFIG_PATH=$(dirname "$(find prefix/ -name tokenkeep.pc)")
LD_LIBRARY_PATH="$prefix/$(dirname "$(cd prefix && find . -name libtokenkeep.so)")"
export TOKENKEEP_VAULT="$work/vault" XDG_CONFIG_HOME="$work/config" PATH="$prefix/bin:$PATH"
export PKG_CONFIG_PATH LD_LIBRARY_PATH

say() { if [ -t 1 ]; then printf "\n\033[1m%s\033[0m\n" "$*"; else printf "\n%s\n" "$*"; fi; }

# Shows and runs a command that must succeed.
run() { run_expecting 0 "$@"; }

# Shows and runs a command that must end with the exit code.
run_expecting() {
    wanted=$1 code=0
    shift
    printf '$ %s\n' "$*"
    sh -c "$*" || code=$?
    [ "$code" -eq 0 ] || printf '(exit code %s)\n' "$code"
    [ "$code" -eq "$wanted" ] || { echo "demo.sh: the exit code is not $wanted" >&2; exit 1; }
}

# The user's own keyring is left alone: a bus and a keyring of the demo's own.
start_desktop() {
    cat >bus.conf <<END
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
END
    dbus-daemon --config-file=bus.conf --fork --print-address=3 --print-pid=4 3>bus.address 4>bus.pid
    DBUS_SESSION_BUS_ADDRESS=$(cat bus.address)
    export DBUS_SESSION_BUS_ADDRESS
    mkdir -p home
    printf 'password' | HOME="$work/home" XDG_DATA_HOME="$work/home" XDG_RUNTIME_DIR="$work" \
        gnome-keyring-daemon --unlock --components=secrets --foreground >keyring.log 2>&1 &
    keyring=$!
    gdbus wait --session --timeout 60 org.freedesktop.secrets || { cat bus.address keyring.log >&2; exit 1; }
}

keyring=
stop_desktop() {
    [ -z "$keyring" ] || kill "$keyring" 2>/dev/null || true
    [ ! -s bus.pid ] || kill "$(cat bus.pid)" 2>/dev/null || true
}
trap 'stop_desktop; rm -rf "$work"' EXIT

unset XDG_RUNTIME_DIR
start_desktop
say "On a desktop: a real gnome-keyring, in a session of its own."
run "printf 's3cr3t' | tokenkeep save example.com ann --label 'Work account'"
run "secret-tool lookup service example.com username ann && echo"
run "tokenkeep list"
say "A C program saves, loads and clears a token."
run "cc -o example save-load-clear.c \$(pkg-config --cflags --libs tokenkeep)"
run "./example"

say "No bus at all, as over ssh: nothing is lost, and nothing looks absent that is only unavailable."
desktop=$DBUS_SESSION_BUS_ADDRESS
unset DBUS_SESSION_BUS_ADDRESS
run_expecting 4 "tokenkeep load example.com ann"
run "printf 'newer' | tokenkeep save example.com ann"
run "tokenkeep load example.com ann && echo"

say "The desktop is back: what was saved meanwhile goes there."
export DBUS_SESSION_BUS_ADDRESS="$desktop"
run "tokenkeep load example.com ann && echo"
run "secret-tool lookup service example.com username ann && echo"
run "tokenkeep clear example.com ann"
unset DBUS_SESSION_BUS_ADDRESS

say "A machine without any service keeps everything in the vault: encrypted records under names that tell nothing."
mkdir -p config/tokenkeep/stack.d
echo "any required vault" >config/tokenkeep/stack.d/default.conf
run "printf 's3cr3t' | tokenkeep save example.com ann"
record=$(find vault/current/records -type f)
run "printf 'other' | tokenkeep save example.com bob --expires +30d"
run "./example"
run "ls -l vault vault/current/ vault/current/records"
run "! grep -rq s3cr3t vault && echo 'No file of the vault shows the secret.'"

say "A record that was damaged is reported, never deleted; the others are unharmed."
# Several bytes: a single one may be the byte that is there.
printf 'XXXXXXXX' | dd of="$record" bs=1 seek=200 conv=notrunc status=none
run_expecting 7 "tokenkeep load example.com ann"
run "tokenkeep load example.com bob && echo"

say "Signing out."
run "tokenkeep clear example.com bob"
run_expecting 1 "tokenkeep load example.com bob"
run "tokenkeep status"

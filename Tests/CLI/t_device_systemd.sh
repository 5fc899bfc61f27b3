# needs: root mount
# Two folders of keys are two machines. Each begins with a kernel that has no key of the vault.
. "$HERE/machines.sh"
export TOKENKEEP_SYSTEMD_SOCKET=$WORK/credentials
service=
trap 'kill $service 2>/dev/null' EXIT
stop_service() {
    kill "$service"
    wait "$service" 2>/dev/null
    rm -f "$TOKENKEEP_SYSTEMD_SOCKET"
    service=
}
# start_service MACHINE [COMMAND...]: the machine's service for credentials.
start_service() {
    local machine=$1
    shift
    [ -z "$service" ] || stop_service
    "$@" /usr/bin/python3 -c "$(cat "$HERE/../Support/credentials.py")" "$TOKENKEEP_SYSTEMD_SOCKET" "$WORK/$machine" "$WORK/mode" >/dev/null &
    service=$!
    until_exists "$TOKENKEEP_SYSTEMD_SOCKET"
}
mode() { echo "$*" >"$WORK/mode"; }
machine() {
    title "$2"
    forget
    start_service "keys-$1"
}

title "no such service"
run device choose systemd
run device show

machine a "a vault that is bound to systemd"
mode right
bind_vault systemd

title "loads ask nobody"
: >"$WORK/keys-a/calls"
levels >/dev/null
cat "$WORK/keys-a/calls"

title "an unlock asks once"
run lock
run unlock --stdin <<<horse
cat "$WORK/keys-a/calls"

for word in host null; do
    title "a credential that needs no TPM: $word"
    mode $word
    TOKENKEEP_VAULT=$WORK/vault-$word
    run device choose systemd
    [ ! -e "$TOKENKEEP_VAULT" ] || run status
    TOKENKEEP_VAULT=$WORK/vault
done

for word in garbage base64 short long another cut drip silence huge "error io.systemd.Credentials.UnexpectedPCRState" \
    "error io.systemd.Credentials.TPMInDictionaryLockout" "error io.systemd.Credentials.BadFormat" \
    "error org.varlink.service.MethodNotFound" "error io.systemd.System" "errno 1" "errno 131" "errno -5"; do
    title "a reply: $word"
    mode "$word"
    run lock
    run unlock --stdin <<<horse
    run load example.com one
    run load example.com two
    run load example.com three
    run load example.com four
    run load example.com five
done
read -r taken <"$WORK/keys-a/taken"
[ "$taken" -lt 1000000 ] && echo "the client took less than 1 MB of 100 MB"

title "states"
mode silence
run device show
run status
mode error io.systemd.Credentials.UnexpectedPCRState
run device show --json
mode right
run device show

title "a credential that needs the firmware's state"
mode pcr-7
run device re-bind systemd --stdin <<<horse
run device show
mode right
run device re-bind --stdin <<<horse
run device show

title "a program of another user listens"
mkdir -m 777 "$WORK/squatted"
chmod 755 "$WORK"
TOKENKEEP_SYSTEMD_SOCKET=$WORK/squatted/credentials
start_service squatted/keys setpriv --reuid 65534 --regid 65534 --clear-groups
forget
run unlock --stdin <<<horse
run load example.com two
run load example.com four
run device show
stop_service
sort -u "$WORK/squatted/keys/calls"
TOKENKEEP_SYSTEMD_SOCKET=$WORK/credentials

start_service keys-a
another_user

machine a "the password and the recovery code"
change_passwords
cp -a vault forgotten
TOKENKEEP_VAULT=$WORK/forgotten
machine a "a forgotten password"
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
levels
forget
TOKENKEEP_VAULT=$WORK/vault

copy_elsewhere

machine a "a program with raised privileges asks the standard service"
: >"$WORK/keys-a/calls"
cp "$HERE/raised.py" "$WORK/tmp"
mkdir "$WORK/home-of-root"
# With a home and services of its own: the standard ones are of this machine.
unshare -m bash -u -c '
    . "$HERE/lib.sh"
    mount --bind "$WORK/home-of-root" "$(getent passwd 0 | cut -d: -f6)" && mount -t tmpfs none /run || exit 1
    printf "#!/bin/sh\nexec python3 %s/tmp/raised.py %s \"\$@\"\n" "$WORK" "$TOKENKEEP" >"$WORK/tmp/raised"
    chmod 755 "$WORK/tmp/raised"
    TOKENKEEP="$WORK/tmp/raised"
    run device choose systemd'
cat "$WORK/keys-a/calls"
forget

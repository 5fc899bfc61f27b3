# needs: mount
# Writes that are pending on a machine that is gone: nobody drains them, and status says how it is given up.
# Everything below runs in a mount namespace of its own, where the machine can be another one.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_forget.sh"'
fi
# No bus is there: what the secret service should get is pending for it.
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
[ -e /etc/machine-id ] || { mount -t tmpfs none /etc && : >/etc/machine-id; }
becomes() {
    printf '%032d\n' "$1" >"machine-$1"
    mount --bind "machine-$1" /etc/machine-id
}
pending() { "$TOKENKEEP" status --stack "$both" | grep -A1 "pending for" || echo "nothing is pending"; }

title "a machine that is installed anew"
becomes 1
use_service "$both"
printf token | run save example.com ann --stack "$both"
printf token | run save example.com bob --stack "$both"
run clear example.com bob --stack "$both"
becomes 2
use_service "$both"
printf token | run save example.com cyd --stack "$both"
pending
run sync --stack "$both"

title "forgetting it here leaves what is pending elsewhere"
run forget secret-service --yes
pending

title "everywhere"
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" forget secret-service --every-machine
run forget secret-service --every-machine --yes
pending
run forget secret-service --every-machine --yes
run load example.com ann --stack "$both"
run list --stack "$both"

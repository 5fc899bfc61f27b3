# needs: mount root
# The program where the system lacks something: /proc, the machine's ID, HOME, an entry in passwd, a directory to write to,
# the kernel's keyring.
program=$TOKENKEEP
TOKENKEEP=$WORK/tmp/elsewhere
elsewhere() { printf '#!/bin/sh\n%s\n' "$1" >"$TOKENKEEP" && chmod 755 "$TOKENKEEP"; }
session() {
    run save example.com ann <<<kept
    run load example.com ann
    run list
    run list example.com --unknown-option
    run password set --stdin <<<horse
    run unlock --stdin <<<horse
    run load example.com ann
    run lock
    run clear example.com ann --password-file "$WORK/password"
    run load example.com ann --password-file "$WORK/password"
}
(umask 077 && echo horse >"$WORK/password")

title "without /proc"
export TOKENKEEP_VAULT="$WORK/no-proc"
elsewhere "exec unshare -m sh -c 'umount -l /proc && exec \"\$@\"' sh $program \"\$@\""
session

title "without the machine's ID"
export TOKENKEEP_VAULT="$WORK/no-machine-id"
elsewhere "exec unshare -m sh -c 'for file in /etc/machine-id /var/lib/dbus/machine-id; do
    [ ! -f \$file ] || mount --bind /dev/null \$file || exit 99; done; exec \"\$@\"' sh $program \"\$@\""
session

title "without HOME"
export TOKENKEEP_VAULT="$WORK/no-home"
elsewhere "exec env -u HOME $program \"\$@\""
session

title "a user without an entry in passwd"
chmod 755 "$WORK" "$WORK/tmp" && cp "$program" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK/tmp/tokenkeep"
install -d -o 54321 -g 54321 "$WORK/own"
install -m 600 -o 54321 -g 54321 "$WORK/password" "$WORK/own/password" && mv "$WORK/own/password" "$WORK/password"
export TOKENKEEP_VAULT="$WORK/own/vault"
elsewhere "exec setpriv --reuid=54321 --regid=54321 --clear-groups $WORK/tmp/tokenkeep \"\$@\""
session
(unset TOKENKEEP_VAULT && run save example.com ann <<<kept)

title "a user namespace, whose kernel keyring ends with it"
(umask 077 && echo horse >"$WORK/password.root") && mv "$WORK/password.root" "$WORK/password"
export TOKENKEEP_VAULT="$WORK/user-namespace"
elsewhere "exec unshare --user --map-root-user $program \"\$@\""
session

title "a user namespace without /proc"
export TOKENKEEP_VAULT="$WORK/user-namespace-no-proc"
elsewhere "exec unshare --user --map-root-user -m sh -c 'mount -t tmpfs none /proc && exec \"\$@\"' sh $program \"\$@\""
run save example.com ann <<<kept
run password set --stdin <<<horse
run unlock --stdin <<<horse
run load example.com ann
run load example.com ann --password-file "$WORK/password"

title "a vault that is visible in one mount namespace alone: programs outside leave its keys"
export TOKENKEEP_VAULT="$WORK/container/vault"
mkdir "$WORK/container" && mkfifo "$WORK/ready"
unshare -m sh -c 'mount -t tmpfs none "$0/container" && chmod 700 "$0/container" && echo >"$0/ready" && exec sleep 120' "$WORK" &
container=$! && read -r _ <"$WORK/ready"
elsewhere "exec nsenter -m -t $container $program \"\$@\""
run save example.com ann <<<kept
run password set --stdin <<<horse
run load example.com ann
TOKENKEEP_VAULT="$WORK/no-proc" "$program" status >"$WORK/tmp/out" && "$program" list
run load example.com ann
run lock
run load example.com ann
kill $container

title "a directory on a read-only file system"
export TOKENKEEP_VAULT="$WORK/read-only/vault"
mkdir "$WORK/read-only"
elsewhere "exec $program \"\$@\""
run save example.com ann <<<kept
elsewhere "exec unshare -m sh -c 'mount --bind $WORK/read-only $WORK/read-only && mount -o remount,bind,ro $WORK/read-only &&
    exec \"\$@\"' sh $program \"\$@\""
run load example.com ann
run save example.com ann <<<lost
run save example.com bob <<<lost
run clear example.com ann
run list
elsewhere "exec $program \"\$@\""
run load example.com ann

title "a home that is read-only and has no vault"
home=$(getent passwd "$(id -u)" | cut -d: -f6)
mkdir "$WORK/home-without-vault"
elsewhere "exec unshare -m sh -c 'mount --bind $WORK/home-without-vault $home && mount -o remount,bind,ro $home &&
    unset TOKENKEEP_VAULT && exec \"\$@\"' sh $program \"\$@\""
run load example.com ann
run save example.com ann <<<lost
run list
run clear example.com ann
run password set --stdin <<<horse
run session begin example.com ann <<<'{"access_token":"a","expires_in":60}'
run status

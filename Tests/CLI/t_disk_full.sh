# needs: mount
# Everything below runs in a mount namespace of its own.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_disk_full.sh"'
fi

mkdir disk
mount -t tmpfs -o size=256k,mode=700 none disk
export TOKENKEEP_VAULT="$WORK/disk/vault"

title "a full disk: the old item stays, nothing half-written is left"
printf kept | run save example.com ann
head -c 1000000 /dev/urandom >disk/ballast 2>/dev/null
head -c 9000 /dev/urandom | run save example.com ann
printf x | run save example.com bob
run load example.com ann
run clear example.com ann
run load example.com ann
find disk/vault -name '*.tmp'
rm disk/ballast
printf back | run save example.com ann
run load example.com ann

title "a full disk, and a log of changes whose next entry needs a block: the log is emptied, a watcher lists again"
truncate -s 4096 disk/vault/changes
head -c 1000000 /dev/urandom >disk/ballast 2>/dev/null
: >told # before the watch has it
"$TOKENKEEP" watch >told 2>&1 &
watcher=$!
told() { tail -n +1 -f told --pid="$watcher" | head -n "$1" | sed 's/\t/<TAB>/g'; }
told 1
run clear example.com ann
told 2
kill "$watcher" && wait "$watcher" 2>/dev/null
[ "$(stat -c %s disk/vault/changes)" -lt 4096 ] && echo "the log was emptied"
rm disk/ballast
printf again | run save example.com ann
run load example.com ann

title "a full disk from the start"
rm -rf disk/vault
head -c 1000000 /dev/urandom >disk/ballast 2>/dev/null
printf x | run save example.com ann
rm disk/ballast
printf later | run save example.com ann
run load example.com ann

title "new keys need room for a second copy of every record"
echo horse | run password set --stdin

title "a disk that cannot be written"
mount -o remount,ro disk
run load example.com ann
printf x | run save example.com ann
run clear example.com ann
run status
umount disk

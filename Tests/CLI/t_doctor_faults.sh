# needs: mount strace
# What doctor says about file systems, the kernel's keyring and memory.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_doctor_faults.sh"'
fi
. "$HERE/doctor.sh"

title "a vault in memory, and a disk that is nearly full"
mkdir disk
mount -t tmpfs -o size=4m,mode=700 none disk
TOKENKEEP_VAULT="$WORK/disk/vault" doctor vault | sed -E 's/[0-9]+ KiB/N KiB/'
umount disk

title "the kernel's keyring is full"
program=$TOKENKEEP
keys() {
    printf '#!/bin/bash\nexec strace -f -qq -o /dev/null -e trace=%s -e inject=%s %q "$@"\n' "${1%%:*}" "$1" "$program" >tmp/refused
    chmod 755 tmp/refused
    TOKENKEEP="$WORK/tmp/refused" doctor kernel-keyring
}
borrow strace
borrow bash
keys add_key:error=EDQUOT
title "the kernel's keyring is forbidden, as by docker"
keys add_key:error=EPERM

title "memory that cannot be locked"
(
    ulimit -l 0
    printf '#!/bin/bash\nexec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock %q "$@"\n' "$program" >tmp/refused
    borrow setpriv
    TOKENKEEP="$WORK/tmp/refused" doctor memory
)

title "a home of another user"
mkdir other-home && chown 12345 other-home
HOME="$WORK/other-home" SUDO_USER=ann doctor environment
SUDO_UID=1000 doctor environment

# needs: mount strace machine-faults
# Findings of doctor about file systems, the kernel's keyring and memory.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_doctor_faults.sh"'
fi
. "$HERE/doctor.sh"

title "a vault in memory, and a disk that is nearly full"
mkdir disk
mount -t tmpfs -o size=4m,mode=700 none disk
TOKENKEEP_VAULT="$WORK/disk/vault" doctor vault | sed -E 's/[0-9]+ KiB/N KiB/'
umount disk
mount -t tmpfs -o nr_inodes=60,mode=700 none disk
TOKENKEEP_VAULT="$WORK/disk/vault" doctor vault | sed -E 's/[0-9]+ free files/N free files/'
umount disk

title "a vault on a file system that a program serves, as sshfs does"
mkdir -m 700 served
bindfs served disk
TOKENKEEP_VAULT="$WORK/disk/vault" doctor vault
umount disk

title "the kernel's keyring of a user, nearly full and full"
chmod 755 "$WORK" tmp bin
(
    doctor() {
        printf '$ tokenkeep doctor (%s)\n' "$2"
        python3 "$HERE/full_keyring.py" "$1" "$program" doctor --system-root "$WORK/root" >tmp/out
        sed -n "/ $2: /,/^  hint/p" tmp/out | sed -E 's/[0-9]+ of ([0-9]+) (keys|bytes)/N of \1 \2/g'
    }
    program=$TOKENKEEP PATH=$WORK/bin:/usr/bin:/bin TOKENKEEP_VAULT=$WORK/none
    doctor 10 kernel-keyring
    doctor 0 kernel-keyring
)

title "the kernel refuses a key"
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

title "a provider of cargo that another user's file names, as with sudo -E: it does not run"
mkdir -p other-home/.cargo
printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >other-home/cargo-credential-tokenkeep
chmod 755 other-home/cargo-credential-tokenkeep
printf '[registry]\nglobal-credential-providers = ["%s"]\n' "$WORK/other-home/cargo-credential-tokenkeep" >other-home/.cargo/config.toml
chmod 644 other-home/.cargo/config.toml
chown -R 12345 other-home
HOME="$WORK/other-home" doctor helpers | grep -A 2 cargo
[ ! -e ran ] && echo "nothing ran"

title "another bus than that of the environment"
mount -t tmpfs none /run
mkdir -p "/run/user/$(id -u)"
: >"/run/user/$(id -u)/bus"
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/none/bus doctor bus | sed "s|/user/$(id -u)/|/user/UID/|"
doctor bus | sed "s|/user/$(id -u)/|/user/UID/|"

title "a clock that was never set"
# faketime takes the semaphore of its process's number, which an ended one may have left.
mount -t tmpfs none /dev/shm
TOKENKEEP_VAULT=$WORK/none faketime -f '@2020-01-01 00:00:00' env PATH="$WORK/bin" "$TOKENKEEP" doctor --system-root "$WORK/root" | grep -A 2 ' clock:'

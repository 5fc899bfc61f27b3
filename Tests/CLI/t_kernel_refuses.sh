# needs: strace
# Errors of the kernel, which strace makes up: of a call of the system, or of its calls for one file.
save() { printf token | run save "$@"; }
echo horse >"$WORK/password" && printf 'horse\nzebra\n' >"$WORK/passwords" && chmod 600 "$WORK"/password*
save example.com ann

title "files of the configuration"
refused newfstatat:error=EIO:when=2+ "$WORK/config/tokenkeep/stack.d" load example.com ann
refused read:error=EIO "$WORK/config/tokenkeep/stack.d/default.conf" load example.com ann

title "directories and files of the vault"
records=$(era)/records
refused newfstatat:error=EIO "$TOKENKEEP_VAULT" load example.com ann
refused newfstatat:error=EIO "$(era)" load example.com ann
refused getdents64:error=EIO "" list
refused openat:error=EIO "$records" list
refused openat:error=EIO "$records" load example.com ann
printf token | refused openat:error=EIO:when=2+ "$records" save example.com bob
printf token | refused fsync:error=EIO "$records" save example.com bob
printf token | refused renameat:error=EIO "" save example.com bob
refused unlinkat:error=EIO "$records" clear example.com ann
TOKENKEEP_VAULT="$WORK/new" refused mkdirat:error=EIO "" password set --stdin <"$WORK/password"
cp -a "$records" "$WORK/records" && for record in "$records"/*; do printf damage >"$record"; done
printf token | refused linkat:error=EIO "" save example.com ann
for record in "$WORK"/records/*; do cp "$record" "$records"; done

title "new keys"
change() { refused "$@" password change --compromised --stdin <"$WORK/passwords"; }
run password set --stdin <"$WORK/password"
refused openat:error=EIO:when=3 "$(era)/records" password remove --stdin <"$WORK/password"
refused openat:error=EIO:when=6 "$(era)/records" password remove --stdin <"$WORK/password"
refused newfstatat:error=EIO "$WORK/password" unlock --password-file "$WORK/password"
next=$TOKENKEEP_VAULT/era-3
change mkdirat:error=ENOSPC ""
change openat:error=EIO "$next"
change unlinkat:error=EIO "$next"
change openat:error=ENOSPC:when=2+ "$next/records"
change syncfs:error=EIO ""
change syncfs:error=EIO:when=3+ ""
change symlinkat:error=EIO ""
change clone3:error=EAGAIN ""
refused memfd_create:error=ENOSYS "" run --password-file "$WORK/password" -- true

title "modules"
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES" && printf '#!/bin/sh\n' >"$TOKENKEEP_MODULES/shell" && chmod 755 "$TOKENKEEP_MODULES/shell"
refused clone3:error=EAGAIN "" list --stack "any required shell"
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
use_service "$both"
refused unlinkat:error=EIO "$(era)/used" forget secret-service --yes
refused openat:error=EIO "$(era)/used" load example.com ann --stack "$both"
printf token | refused openat:error=ENOSPC "$(era)/pending" save example.com ann --stack "$both"
printf token | run save example.com ann --stack "$both"
refused unlinkat:error=EIO "$(era)/pending" forget secret-service --yes --every-machine
change linkat:error=EIO ""

title "sessions"
printf '{"access_token":"a","expires_in":3600,"refresh_token":"r"}' | run session begin api ann
refused fallocate:error=ENOSPC "" session refresh api ann --exec true
refused inotify_init1:error=EMFILE "" session watch
refused inotify_add_watch:error=ENOSPC "" session watch
refused vfork:error=EAGAIN "" session refresh api ann --exec true

title "watches"
refused inotify_init1:error=EMFILE "" watch
refused inotify_add_watch:error=ENOSPC "" watch

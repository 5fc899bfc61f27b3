# Findings of doctor about the vault, the login and what surrounds the process. The bus: t_doctor_bus; tools: t_doctor_tools.
. "$HERE/doctor.sh"

title "nothing is here yet"
doctor
[ -e "$TOKENKEEP_VAULT" ] || echo "nothing was made"
PATH="$WORK/bin" "$TOKENKEEP" doctor --json --system-root "$WORK/root" >tmp/json
sed -E 's/[0-9]+ of [0-9]+ (keys|bytes)/N \1/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/' tmp/json

title "a stack that is malformed"
echo "any required" >config/tokenkeep/stack.d/default.conf
doctor stack
echo "any required vault" >config/tokenkeep/stack.d/default.conf

title "the vault and its password"
printf 'sesame' | run save example.com ann
doctor vault password records
echo horse | run password set --stdin
doctor vault password
run lock
doctor vault
echo horse | run unlock --stdin
chmod 755 "$TOKENKEEP_VAULT"
doctor vault password records pending
chmod 700 "$TOKENKEEP_VAULT"
mv "$(era)/header.2" tmp/
doctor vault
mv tmp/header.2 "$(era)/"

title "a damaged record"
mkdir kept
cp "$(era)"/records/* kept/
for record in "$(era)"/records/*; do printf damage >"$record"; done
doctor records
cp kept/* "$(era)/records/"

title "a record that a copy has renamed"
for record in "$(era)"/records/*; do mv "$record" "$record.1"; done
doctor records
for record in "$(era)"/records/*; do mv "$record" "${record%.1}"; done
doctor records

title "a pending write, which the keyring missed"
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
use_service 'default'
printf pending | DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent run save example.com bob
doctor stack bus pending
echo "any required vault" >config/tokenkeep/stack.d/default.conf

title "a clock that was set back"
touch -d '+2 days' "$TOKENKEEP_VAULT/changes"
doctor clock | sed -E 's/is [0-9]+ minutes/is N minutes/'
touch "$TOKENKEEP_VAULT/changes"

title "the line of PAM and its place"
mkdir -p root/etc/pam.d
auth() { printf 'auth %s\n' "$@" >root/etc/pam.d/common-auth; }
echo '@include common-auth' >root/etc/pam.d/login
doctor login
auth 'required pam_unix.so'
doctor login
auth 'optional pam_tokenkeep.so' '[success=1 default=ignore] pam_unix.so' 'requisite pam_deny.so' 'required pam_permit.so'
doctor login
auth 'sufficient pam_unix.so' 'optional pam_tokenkeep.so' 'required pam_deny.so'
doctor login
auth '[success=2 default=ignore] pam_unix.so' 'requisite pam_deny.so' 'optional pam_tokenkeep.so' 'required pam_permit.so'
doctor login
auth '[success=1 default=ignore] pam_unix.so' 'requisite pam_deny.so' 'required pam_permit.so' 'optional pam_tokenkeep.so'
doctor login
printf 'auth substack common-auth\nauth optional pam_tokenkeep.so\n' >root/etc/pam.d/login
auth 'sufficient pam_unix.so' 'required pam_deny.so'
doctor login
echo '1763942400 login wrong-password' >"$TOKENKEEP_VAULT/login"
doctor login
echo '1763942400 login no-password' >"$TOKENKEEP_VAULT/login"
doctor login
rm "$TOKENKEEP_VAULT/login"

title "what surrounds the process"
SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22" doctor environment
cp "$(command -v bash)" bin/cron
printf 'PATH="%s" "%s" doctor --system-root "%s"\nexit $?\n' "$WORK/bin" "$TOKENKEEP" "$WORK/root" >tmp/job
bin/cron tmp/job | grep -A 2 ' environment:'
rm bin/cron
INVOCATION_ID=0123456789abcdef doctor environment </dev/null
touch root/.dockerenv && doctor environment && rm root/.dockerenv
container=podman doctor environment
touch root/.flatpak-info && doctor environment && rm root/.flatpak-info
SNAP_NAME=code doctor environment
mkdir -p root/proc/sys/kernel
echo 5.15.167.4-microsoft-standard-WSL2 >root/proc/sys/kernel/osrelease
doctor environment
rm -r root/proc
XDG_CURRENT_DESKTOP=niri doctor environment
mkdir -p "$HOME/.config" && echo --password-store=gnome-libsecret >config/electron-flags.conf
XDG_CURRENT_DESKTOP=niri doctor environment
XDG_CURRENT_DESKTOP=ubuntu:GNOME doctor environment

title "no secret in any output"
PATH="$WORK/bin" "$TOKENKEEP" doctor 2>&1 | grep -c -e sesame -e horse || true

# needs: mount
# Adversaries that do not get a secret, and the report of protection for each.
cp "$TOKENKEEP" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK" "$WORK/tmp" "$WORK/tmp/tokenkeep"
# A user whose quota of keys is this run's own.
other=$((100000 + $$))
install -d -o "$other" -g "$other" -m 700 "$WORK/other"
as_other() { setpriv --reuid="$other" --regid="$other" --clear-groups env HOME="$WORK/other" TOKENKEEP_VAULT="$WORK/other/vault" "$@"; }
cell() { "$TOKENKEEP" protection --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["levels"]
print(next(row["axes"][sys.argv[2]]["strength"] for row in rows if row["level"] == sys.argv[1]))' "$1" "$2"; }
# The report's rows of the two levels, and of the second with user presence.
report() { "$TOKENKEEP" protection | sed -n '1,3p;8p'; }
export -f report
keys() { python3 "$HERE/keys.py" "$@"; }

printf secret | run save example.com ann
cp -a "$TOKENKEEP_VAULT" "$WORK/backup"
run password set --stdin <<<horse

title "another user, who inherited the session keyring and knows where the vault is"
cp -a "$TOKENKEEP_VAULT" "$WORK/other/vault" && chown -R "$other:$other" "$WORK/other/vault"
(TOKENKEEP_VAULT="$WORK/other/vault" TOKENKEEP="$WORK/tmp/as_other"
    printf '#!/bin/sh\nexec setpriv --reuid=%s --regid=%s --clear-groups %s "$@"\n' "$other" "$other" "$WORK/tmp/tokenkeep" >"$TOKENKEEP"
    chmod 755 "$TOKENKEEP"
    run load example.com ann)
keys read-as "$other" "$TOKENKEEP_VAULT"
cell when-unlocked other-user
cell after-first-unlock other-user

title "another user, who puts keys of his own in the place of those in the kernel"
keys plant-as "$other" "$TOKENKEEP_VAULT"
run load example.com ann
printf his | run save example.com ann
run lock
run unlock --stdin <<<horse
keys plant-as "$other" "$TOKENKEEP_VAULT"
run unlock --stdin <<<horse
run load example.com ann

title "the disk: a copy where no key is resident"
run lock
run load example.com ann
cell after-first-unlock disk-theft
cell after-first-unlock other-machine
run unlock --stdin <<<horse

title "a backup from before the password, and the items since: nothing of them, and while the machine is on, nothing at all"
printf later | run save example.com later
cp -a "$WORK/backup" "$WORK/mixed" && cp "$(era)"/records/* "$(era "$WORK/mixed")/records/"
there() { (export TOKENKEEP_VAULT="$WORK/mixed"; "$@"); }
there run load example.com later
there run load example.com ann
title "the same after the machine was started: what was in the backup"
keys forget "$TOKENKEEP_VAULT"
there run load example.com later
there run load example.com ann
run unlock --stdin <<<horse

title "the same user's other sessions: one of its own, one without the user's keyring, a job without any environment"
keys new-session "$TOKENKEEP" load example.com ann; echo
keys no-session "$TOKENKEEP" load example.com ann; echo
env -i TOKENKEEP_VAULT="$TOKENKEEP_VAULT" XDG_CONFIG_HOME="$XDG_CONFIG_HOME" setsid "$TOKENKEEP" load example.com ann; echo

title "a program that runs with raised privileges: the vault of the user it works for, and no keyring"
cp "$HERE/raised.py" "$WORK/tmp"
mkdir "$WORK/home-of-root"
# In a home of its own: the one that the passwd database names.
unshare -m bash -u -c '
    . "$HERE/lib.sh"
    mount --bind "$WORK/home-of-root" "$(getent passwd 0 | cut -d: -f6)" || exit 1
    unset TOKENKEEP_VAULT
    printf secret | run save example.com ann
    run password set --stdin <<<horse
    run load example.com ann
    printf "#!/bin/sh\nexec python3 %s/tmp/raised.py %s \"\$@\"\n" "$WORK" "$TOKENKEEP" >"$WORK/tmp/raised"
    chmod 755 "$WORK/tmp/raised"
    (TOKENKEEP="$WORK/tmp/raised"; run load example.com ann; run unlock --stdin <<<horse; report)
    run lock'

title "the kernel's keyring is not to be had"
for reason in EPERM ENOSYS EACCES; do
    (TOKENKEEP="$WORK/tmp/$reason"
        printf '#!/bin/sh\nexec python3 %s/without_keyring.py %s %s "$@"\n' "$HERE" "$reason" "$WORK/tmp/tokenkeep" >"$TOKENKEEP"
        chmod 755 "$TOKENKEEP"
        run load example.com ann
        run unlock --stdin <<<horse
        run lock
        report)
done
(TOKENKEEP="$WORK/tmp/namespace"
    printf '#!/bin/sh\nexec unshare -U -r %s "$@"\n' "$WORK/tmp/tokenkeep" >"$TOKENKEEP"
    chmod 755 "$TOKENKEEP"
    run unlock --stdin <<<horse
    report)

title "as many keys as a user may have"
as_other python3 "$HERE/keys.py" fill sh -c 'echo horse | "$0" unlock --stdin; echo "[exit $?]"; "$0" load example.com ann; echo "[exit $?]"; "$0" protection | sed -n "1,3p;8p"' "$WORK/tmp/tokenkeep"
# Where not all fit, none is left there.
as_other python3 "$HERE/keys.py" nearly-fill sh -c 'echo horse | "$0" unlock --stdin; echo "[exit $?]"; python3 "$1" read-as "$2" "$TOKENKEEP_VAULT"' "$WORK/tmp/tokenkeep" "$HERE/keys.py" "$other"
as_other sh -c 'echo horse | "$0" unlock --stdin; "$0" load example.com ann; "$0" lock' "$WORK/tmp/tokenkeep"
echo

title "the era without a password is put back"
cp -a "$TOKENKEEP_VAULT" "$WORK/right"
cp -a "$WORK/backup/era-1" "$TOKENKEEP_VAULT/" && ln -sfn era-1 "$TOKENKEEP_VAULT/current"
run load example.com ann
printf his | run save example.com ann
run unlock --stdin <<<horse
run status
run lock
run load example.com ann
place_vault "$WORK/right"
run load example.com ann
run unlock --stdin <<<horse
run load example.com ann
run lock

title "both copies of the header damaged"
printf xxxxxxxx | dd of="$(era)/header" bs=1 seek=200 conv=notrunc status=none
printf xxxxxxxx | dd of="$(era)/header.2" bs=1 seek=200 conv=notrunc status=none
run load example.com ann

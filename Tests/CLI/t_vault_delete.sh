# needs: strace
# A vault is deleted: what would be lost with it is said before, what is not its own stays, and a killed deletion is finished.
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
files() { (cd "$TOKENKEEP_VAULT" 2>/dev/null && find . -mindepth 1 | sort) || echo "the directory is gone"; }

title "wrong use"
run vault
run vault delete example.com
run vault delete --yes
run vault delete
run vault orphans 0x01800000
run vault orphans --yes
run vault orphans --free 25165824
run vault orphans --free --json
run vault orphans

title "a vault without a password"
printf token | run save example.com ann
run vault delete
run vault delete --yes
files
run load example.com ann
printf new | run save example.com ann
run load example.com ann

title "on a terminal"
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" vault delete
run load example.com ann
on_terminal 'expect:[y/N] ' 'send:y\n' -- "$TOKENKEEP" vault delete
files

title "a locked vault, and one whose keys are in the kernel"
"$TOKENKEEP" password set --stdin <<<horse
printf token | run save example.com ann
run lock
run vault delete --yes
files
"$TOKENKEEP" password set --stdin <<<horse
printf token | run save example.com ann
cp -a "$TOKENKEEP_VAULT" copy
run vault delete --yes
python3 "$HERE/keys.py" count copy
mv copy "$TOKENKEEP_VAULT"
run load example.com ann
run vault delete --yes

title "a write that the service missed"
use_service "$both"
printf token | run save example.com ann --stack "$both"
run vault delete --yes
run load example.com ann --stack "$both"
run vault delete --yes --though-pending
files

title "a token that waits to be revoked"
printf '{"access_token":"a1","refresh_token":"r1","expires_in":600}' | run session begin example.com ann
run session logout example.com ann
run vault delete --yes
run vault delete --yes --though-pending
files

title "files of others stay"
printf token | run save example.com ann
echo mine >"$TOKENKEEP_VAULT/notes"
echo mine >"$(era)/records/notes"
ln -s /etc/passwd "$(era)/link"
mkdir "$(era)/mine"
cp "$(era)"/records/[0-9a-f]* "$(era)/records/00000000000000000000000000000000.corrupt-1"
on_terminal 'expect:[y/N] ' 'send:y\n' -- "$TOKENKEEP" vault delete
files
printf new | run save example.com ann
rm -r "$TOKENKEEP_VAULT"
printf new | run save example.com ann
run vault delete --yes

title "a deletion that is killed is finished by the next"
for name in ann bob; do printf token | "$TOKENKEEP" save example.com $name; done
printf '#!/bin/bash\nexec strace -f -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EIO:signal=KILL:when=3 %q "$@"\n' "$TOKENKEEP" >"$WORK/tmp/killed"
chmod 755 "$WORK/tmp/killed"
{ "$WORK/tmp/killed" vault delete --yes; } 2>/dev/null
echo "killed: $?"
run load example.com ann
printf token | run save example.com ann
run vault delete
files

title "a deletion that fails says so, and is finished"
printf token | "$TOKENKEEP" save example.com ann
refused renameat:error=EIO current vault delete --yes
run load example.com ann
refused unlinkat:error=EIO keyfile vault delete --yes
run load example.com ann
refused unlinkat:error=EIO deleted vault delete
run vault delete
files
printf token | "$TOKENKEEP" save example.com ann
echo mine >"$(era)/notes"
refused renameat:error=EIO era-1 vault delete --yes
run vault delete
files
rm -r "$TOKENKEEP_VAULT"

title "a damaged vault"
printf token | "$TOKENKEEP" save example.com ann
: >"$(era)/keyfile"
run vault delete --yes
run vault delete --yes --though-pending
files

title "a vault that another process uses"
printf token | "$TOKENKEEP" save example.com ann
hold_lock
run_held vault delete --yes
release_lock
run load example.com ann
run vault delete --yes

title "and one whose keys are being replaced, or whose session is being renewed"
printf '{"access_token":"a1","refresh_token":"r1","expires_in":600}' | "$TOKENKEEP" session begin example.com ann
hold() { # FILE: like hold_lock, for another file
    mkfifo held release
    python3 -c 'import fcntl, sys
with open(sys.argv[1], "a+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    open("held", "w").close()
    open("release").close()' "$1" &
    : <held
}
mkdir "$TOKENKEEP_VAULT/era-2"
hold "$TOKENKEEP_VAULT/era-2/making"
run vault delete --yes
release_lock
hold "$TOKENKEEP_VAULT/sessions/lock"
LOCK_FILE="$TOKENKEEP_VAULT/sessions/lock" run_held vault delete --yes
release_lock
run session token example.com ann
run vault delete --yes
files

title "a copy of a vault that is used elsewhere, and a vault with a directory of another one's id"
printf token | "$TOKENKEEP" save example.com ann --level when-unlocked
"$TOKENKEEP" password set --stdin <<<horse
cp -a "$TOKENKEEP_VAULT" "$WORK/copy"
TOKENKEEP_VAULT="$WORK/copy" run vault delete --yes
run load example.com ann
printf other | TOKENKEEP_VAULT="$WORK/copy" "$TOKENKEEP" save example.com ann
mkdir "$WORK/copy/era-999"
python3 - "$(era)/keyfile" "$WORK/copy/era-999/keyfile" <<'PYTHON'
import hashlib, struct, sys
keyfile = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<Q", keyfile, 32, 999)
keyfile[80:112] = hashlib.blake2b(keyfile[:80], digest_size=32).digest()
open(sys.argv[2], "wb").write(keyfile)
PYTHON
chmod -R go= "$WORK/copy"
TOKENKEEP_VAULT="$WORK/copy" run vault delete --yes
run load example.com ann
ln -s era-1 "$TOKENKEEP_VAULT/deleted"
run vault delete
run load example.com ann
run vault delete --yes
files

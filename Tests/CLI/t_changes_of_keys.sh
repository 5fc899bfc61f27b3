# Errors of a change of the vault's keys that no other scenario provokes.
save() { printf token | run save "$@"; }
echo horse >"$WORK/password" && printf 'horse\nzebra\n' >"$WORK/passwords" && chmod 600 "$WORK"/password*
change() { run password change --compromised --stdin <"$WORK/passwords"; }
save example.com ann
run password set --stdin <"$WORK/password"

title "an older link"
cp -a "$(era)" "$TOKENKEEP_VAULT/era-3"
change
rm -r "$TOKENKEEP_VAULT/era-3"

title "another process changes them"
mkdir -m 700 "$TOKENKEEP_VAULT/era-3" "$TOKENKEEP_VAULT/era-3/records"
install -m 600 /dev/null "$TOKENKEEP_VAULT/era-3/making"
python3 - "$TOKENKEEP_VAULT/era-3/making" <<'PYTHON' &
import fcntl, os, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    os.mkfifo("release")
    open("held", "w").close()
    open("release").read()
PYTHON
until [ -e held ]; do :; done
change
: >release
wait

title "a file that is no record, and too long"
head -c 3000000 /dev/zero >"$(era)/records/00000000000000000000000000000000"
change
rm "$(era)/records/00000000000000000000000000000000"

title "a thousand damaged copies"
for record in "$(era)"/records/*; do printf damage >"$record"; done
for number in $(seq 1000); do : >"$record.corrupt-$number"; done
save example.com ann
rm "$record" "$record".corrupt-*

title "a file in the place of a lock"
rm "$TOKENKEEP_VAULT/lock" && mkdir "$TOKENKEEP_VAULT/lock"
save example.com ann
rmdir "$TOKENKEEP_VAULT/lock" && mkfifo "$TOKENKEEP_VAULT/lock"
save example.com ann

# needs: nacl
printf one | run save example.com ann --label 'Ann' --attribute a=1 --expires @2000000000
printf two | run save example.com bert --level when-unlocked --namespace team
printf '\0\n\377' | run save example.com bytes --synchronizable

title "an export"
run export "$WORK/backup" --stdin <<<''
run export "$WORK/backup" --stdin <<<passphrase
stat -c %a "$WORK/backup"
run export "$WORK/backup" --stdin <<<passphrase
run export "$WORK/none/backup" --stdin <<<passphrase
grep -c 'example' "$WORK/backup"
/usr/bin/python3 "$HERE/../Vectors/read_export.py" "$WORK/backup" <<<passphrase

title "an import"
export TOKENKEEP_VAULT="$WORK/second"
run import "$WORK/missing" --stdin <<<passphrase
run import "$WORK/backup" --stdin <<<wrong
run list
run import "$WORK/backup" --stdin <<<passphrase
run import "$WORK/backup" --stdin <<<passphrase
printf changed | run save example.com ann
run import "$WORK/backup" --replace --stdin <<<passphrase
run load example.com ann
run load example.com bert --namespace team
"$TOKENKEEP" load example.com bytes | od -An -tx1
run list --json

title "an item that another process holds"
"$TOKENKEEP" clear example.com bert --namespace team
hold_lock "$(/usr/bin/python3 "$HERE/item_id.py" "$TOKENKEEP_VAULT" team example.com bert)"
run_held import "$WORK/backup" --stdin <<<passphrase
release_lock
run import "$WORK/backup" --stdin <<<passphrase

title "nothing is imported of a file that was changed, anywhere"
export TOKENKEEP_VAULT="$WORK/third"
python3 - "$TOKENKEEP" "$WORK" <<'PYTHON'
import os, subprocess, sys
program, work = sys.argv[1:]
good = open(work + "/backup", "rb").read()
def status(data):
    with open(work + "/spoilt", "wb") as file: file.write(data)
    done = subprocess.run([program, "import", work + "/spoilt", "--stdin"], input=b"passphrase\n", capture_output=True)
    return done.returncode
# The costs of the derivation are left out: a flipped bit may ask for a gigabyte.
places = list(range(0, 16)) + list(range(28, 88, 3)) + list(range(88, len(good), 29))
print({status(good[:place] + bytes([good[place] ^ 2]) + good[place + 1:]) for place in places} <= {4, 5, 7})
print({status(good[:length]) for length in (0, 10, 87, 88, 92, 93, len(good) - 1)}, status(good + b"x"))
for passes, memory in ((17, 8), (3, 1 << 21), (0, 8)):
    print(status(good[:20] + passes.to_bytes(4, "little") + memory.to_bytes(4, "little") + good[28:]))
PYTHON
run list

title "locked items"
export TOKENKEEP_VAULT="$WORK/second"
run password set --stdin <<<horse
run lock --screen
run export "$WORK/locked" --stdin <<<passphrase
run export "$WORK/locked" --partial --stdin <<<passphrase
run lock
run export "$WORK/all" --stdin <<<passphrase
run export "$WORK/all" --partial --stdin <<<passphrase
run unlock --stdin <<<horse
printf asked | run save example.com demands --require-enforced
run export "$WORK/demands" --stdin <<<passphrase
run lock

title "a demand that cannot be met"
export TOKENKEEP_VAULT="$WORK/fourth"
run import "$WORK/demands" --stdin <<<passphrase
run list

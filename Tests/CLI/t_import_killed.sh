# needs: strace
# An import that is killed at any of its changes: source and store together have every entry, and no file is half written.
cat >check.py <<'PYTHON'
import json, subprocess, sys
program, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
items = json.loads(subprocess.run([program, "list", "--json"], check=True, capture_output=True).stdout)["items"]
stored = {item["account"] for item in items}
with open(path, encoding="utf-8") as file:
    text = file.read()
assert text == "" or text.endswith("\n"), text
left = [line.split(":")[1][2:] for line in text.splitlines()]
assert all(line == f"https://user{name[4:]}:secret{name[4:]}@host.example" for line, name in zip(text.splitlines(), left)), text
missing = {f"user{number}" for number in range(count)} - stored - set(left)
assert not missing, missing
for name in stored:
    secret = subprocess.run([program, "load", "git:https://host.example", name], check=True, capture_output=True).stdout
    assert secret == b"secret" + name[4:].encode(), (name, secret)
PYTHON
source=home/.git-credentials

title "a source that cannot be written: what was imported is told, and stays"
echo "https://ann:sesame@host.example" >$source
refused rename:error=EROFS "" import --from git-credentials --remove
run load git:https://host.example ann
cat $source
ls -A home
kill_at() { # kill_at CALL NUMBER: whether the import was killed
    strace -f -qq -o /dev/null -e "trace=$1" -e "inject=$1:signal=KILL:when=$2" "$TOKENKEEP" import --from git-credentials --remove \
        >/dev/null 2>&1
    [ $? = 137 ]
}
# `make verify` kills 200 times, at moments closer together.
step=17 least=20 most=100 entries=3
[ -z "${TOKENKEEP_EVERY_MOMENT-}" ] || step=1 least=200 most=210 entries=12
kills=0
show_kills() {
    for call in openat pwrite64 write fsync rename unlink fchmod fdatasync renameat linkat; do
        for ((number = 1; number < 400 && kills < most; number += number < 6 ? 1 : step)); do
            rm -rf "$TOKENKEEP_VAULT"
            for ((index = 0; index < entries; index++)); do echo "https://user$index:secret$index@host.example"; done >$source
            kill_at $call $number || break
            kills=$((kills + 1))
            python3 check.py "$TOKENKEEP" $source $entries || echo "after $call $number"
            # Run again: everything is there, and the source is empty.
            "$TOKENKEEP" import --from git-credentials --remove >/dev/null || echo "the second run failed: $call $number"
            python3 check.py "$TOKENKEEP" $source $entries && [ ! -s $source ] || echo "the second run: $call $number"
            ls -A home | grep -v '^.git-credentials$'
        done
    done
    [ $kills -ge $least ] && echo "killed often enough"
}
show_kills 2>&1 | grep -v Killed

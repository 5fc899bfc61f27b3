#!/bin/sh
# The second reader, in Python, and this program understand each other. Usage: run.sh PREFIX
#
# 1. The vectors are what their generator makes, and the Python reader reads them as they say. (The Swift tests do too.)
#    It refuses, too, what an attacker makes who has every file.
# 2. A vault that the installed program wrote is read by the Python reader, which checks all that the format promises.
set -eu
here=$(dirname "$0")
tokenkeep=$1/bin/tokenkeep
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 "$here/make_vectors.py" --check
/usr/bin/python3 "$here/test_vectors.py"
/usr/bin/python3 "$here/test_attack.py"

export TOKENKEEP_VAULT="$work/vault" XDG_CONFIG_HOME="$work/config"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
printf 'token' | "$tokenkeep" save example.com ann --label Work --attribute b=2 --attribute a=1 --expires @2000000000
/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)' >"$work/large"
"$tokenkeep" save --namespace team --level when-unlocked --synchronizable café "" <"$work/large"
printf '' | "$tokenkeep" save empty x --allow-empty
printf 'gone' | "$tokenkeep" save cleared x
"$tokenkeep" clear cleared x

/usr/bin/python3 "$here/read_vault.py" "$TOKENKEEP_VAULT" --json >"$work/items.json"
/usr/bin/python3 - "$work/items.json" "$work/large" <<'CHECK'
import base64, json, sys

listed = json.load(open(sys.argv[1]))
assert listed["problems"] == [], listed["problems"]
items = {(item["namespace"], item["service"], item["account"]): item for item in listed["items"]}
assert set(items) == {("", "example.com", "ann"), ("team", "café", ""), ("", "empty", "x")}, set(items)
secret = lambda item: base64.b64decode(item["secret"])
ann = items["", "example.com", "ann"]
assert secret(ann) == b"token" and ann["label"] == "Work" and ann["expires_at"] == 2000000000, ann
assert ann["attributes"] == {"a": "1", "b": "2"} and ann["state"] == "home" and ann["level"] == 2, ann
large = items["team", "café", ""]
assert secret(large) == open(sys.argv[2], "rb").read() and large["flags"] == 4 and large["level"] == 1
assert secret(items["", "empty", "x"]) == b""
print("The second reader reads what tokenkeep wrote.")
CHECK

# The same with a password, of which the reader is told.
printf 'horse' | "$tokenkeep" password set --stdin
printf 'horse' | "$tokenkeep" recovery create --stdin >"$work/code"
"$tokenkeep" lock
if /usr/bin/python3 "$here/read_vault.py" "$TOKENKEEP_VAULT" >/dev/null 2>&1; then
    echo "The second reader reads a locked vault without its password." >&2
    exit 1
fi
printf 'horse' | /usr/bin/python3 "$here/read_vault.py" "$TOKENKEEP_VAULT" --json --password-stdin >"$work/unlocked.json"
/usr/bin/python3 "$here/read_vault.py" "$TOKENKEEP_VAULT" --json --code-stdin <"$work/code" >"$work/recovered.json"
/usr/bin/python3 - "$work/items.json" "$work/unlocked.json" "$work/recovered.json" <<'CHECK'
import json, sys

# The names of the records change with the era; versions do not.
read = ({(item["service"], item["secret"], item["version"]) for item in json.load(open(path))["items"]} for path in sys.argv[1:])
before, unlocked, recovered = read
assert before == unlocked == recovered and len(before) == 3
print("It reads the same with the password, and with the recovery code.")
CHECK

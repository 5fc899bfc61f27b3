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
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d" "$XDG_CONFIG_HOME/tokenkeep/providers.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
echo "token_endpoint = https://login.example.com/token" >"$XDG_CONFIG_HOME/tokenkeep/providers.d/example.conf"
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

# Sessions: a user's, one whose refresh has no answer, one whose refresh token is an item of its own, a guest's, and one
# that ended.
cat >"$work/server" <<'SCRIPT'
#!/bin/sh
cat >/dev/null
[ "$TOKENKEEP_ACCOUNT" != bob ] || exit 1
printf '{"access_token":"renewed","expires_in":3600,"refresh_token":"next","scope":"read mail"}'
SCRIPT
chmod +x "$work/server"
for account in ann bob eve; do
    printf '{"access_token":"first","token_type":"Bearer","expires_in":3600,"refresh_token":"one"}' |
        "$tokenkeep" session begin api.example.com "$account" --provider example
done
printf '{"access_token":"guest","expires_in":900}' | "$tokenkeep" session begin --guest shop.example.com ""
"$tokenkeep" session refresh api.example.com ann --exec "$work/server" >/dev/null
"$tokenkeep" session token api.example.com ann --resource https://files --exec "$work/server" >/dev/null
printf '{"access_token":"first","token_type":"Bearer","expires_in":3600,"refresh_token":"one"}' |
    "$tokenkeep" session begin api.example.com dan --refresh-level when-unlocked
"$tokenkeep" session refresh api.example.com dan --exec "$work/server" >/dev/null
! "$tokenkeep" session refresh api.example.com bob --exec "$work/server" 2>/dev/null
"$tokenkeep" session logout api.example.com eve 2>/dev/null
"$tokenkeep" session device >/dev/null
/usr/bin/python3 "$here/read_vault.py" "$TOKENKEEP_VAULT" --json >"$work/sessions.json"
"$tokenkeep" session list --json >"$work/list.json"
/usr/bin/python3 - "$work/sessions.json" "$work/list.json" <<'CHECK'
import datetime, json, sys

read, listed = (json.load(open(path)) for path in sys.argv[1:])
assert read["problems"] == [], read["problems"]
moment = lambda seconds: seconds and datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
present = {(session["service"], session["account"]): session for session in listed["sessions"]}
assert len(read["sessions"]) == len(present) == 5, present
for note in read["sessions"]:
    session = present[note["names"][1], note["names"][2]]
    for member in ("state", "kind", "generation"):
        assert note[member] == session[member], (member, note, session)
    assert (note["active"] and note["state"] != "signed-out") == session["active"], (note, session)
    assert bool(note["can_renew"]) == session["can_renew"], (note, session)
    for member in ("provider", "scope"):
        assert (note[member] or None) == session[member], (member, note, session)
    for member in ("expires_at", "validated_at"):
        assert moment(note.get(member)) or None == session[member], (member, note, session)
    assert note.get("refresh_level", 0) == (session["refresh_level"] == "when-unlocked"), (note, session)
    process = note["refreshing"] and note["refreshing"]["process"]
    assert process == session["refreshing"], (note, session)
states = {note["names"][2]: note["state"] for note in read["sessions"]}
assert states == {"ann": "user", "bob": "user", "dan": "user", "eve": "signed-out", "": "guest"}, states
assert next(note for note in read["sessions"] if note["names"][2] == "bob")["refreshing"], "bob's refresh is not noted"
ann = next(item for item in read["items"] if item["service"] == "api.example.com" and item["account"] == "ann")
import base64

record = json.loads(base64.b64decode(ann["secret"]))
assert record["access_token"] == "renewed" and record["refresh_token"] == "next", record
assert list(record["resources"]) == ["https://files "], record
dan = [item for item in read["items"] if item["account"] == "dan" or item["service"] == "org.tokenkeep.session.refresh"]
record, refresh = (json.loads(base64.b64decode(item["secret"])) for item in sorted(dan, key=lambda item: item["service"]))
assert "refresh_token" not in record and refresh["refresh_token"] == "next", (record, refresh)
assert {item["level"] for item in dan} == {1, 2}, dan
print("It reads the sessions that tokenkeep wrote.")
CHECK
for item in "api.example.com ann" "api.example.com bob" "api.example.com dan" "api.example.com eve"; do "$tokenkeep" session logout --local ${item} 2>/dev/null; done
"$tokenkeep" clear shop.example.com ""
"$tokenkeep" clear org.tokenkeep.session.outbox --all

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

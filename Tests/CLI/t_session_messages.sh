# Errors of sessions that no other scenario provokes.
server() { printf '#!/bin/sh\ncat >/dev/null\n%s\n' "$1" >"$WORK/server" && chmod 755 "$WORK/server"; }
begin() { printf '{"access_token":"first","expires_in":%s,"refresh_token":"one"}' "$2" | run session begin api "$1" "${@:3}"; }
refresh() { run session refresh api "$@" --exec "$WORK/server"; }

title "tokens and records that are none"
printf '' | run session begin api ann --raw
printf 'a\tb' | run session begin api ann --raw
printf 'a\377' | run session begin api ann --raw
python3 -c 'print("{\"access_token\":\"a\",\"x\":\"" + "x" * 262100 + "\"}")' | run session begin api ann
python3 -c 'print("{\"access_token\":\"a\",\"x\":\"" + "x" * 262144 + "\"}")' | run session begin api ann
begin ann 3600 --level when-unlocked --refresh-level memory-only
printf '{"tokenkeep_session":9}' | run save api later && run session token api later

title "guests"
printf '{"access_token":"g","expires_in":0}' | run session begin api guest --guest
run session token api guest
printf '{"access_token":"g"}' | run session begin api guest --guest
refresh guest

title "answers of the server"
begin ann 3600
server "echo '{\"error\":\"invalid_client\"}'" && refresh ann
server "printf 'HTTP/1.1 418 No\r\n\r\n'" && run session validate api ann --exec "$WORK/server"
server '[ "$TOKENKEEP_PURPOSE" = extend ] && printf "HTTP/1.1 401 No\r\n\r\n" || echo "{\"access_token\":\"b\",\"refresh_token\":\"two\"}"'
run session extend api ann --by 10m --exec "$WORK/server"

title "a refused token that is empty"
run session rejected api ann --exec "$WORK/server" </dev/null
echo | run session rejected api ann --exec "$WORK/server"

title "a token for a resource finds no room in the record"
python3 -c 'print("{\"access_token\":\"" + "a" * 250000 + "\",\"refresh_token\":\"r\"}")' | run session begin api big
server 'echo "{\"access_token\":\"$(head -c 20000 /dev/zero | tr "\0" b)\",\"refresh_token\":\"two\"}"'
run session token api big --resource https://files.example.com --exec "$WORK/server"

title "another process changes the session"
mkfifo held release
python3 - "$TOKENKEEP_VAULT/sessions/lock" <<'PYTHON' &
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    open("held", "w").write("yes\n")
    open("release").read()
PYTHON
read -r _ <held
LOCK_FILE=$TOKENKEEP_VAULT/sessions/lock
printf '{"access_token":"first","expires_in":3600}' | run_held session begin api ann
run_held session device
: >release
wait

title "a refresh token that is an item of its own"
echo horse >password && chmod 600 password
run password set --stdin <password
begin apart 3600 --refresh-level when-unlocked
item=$("$TOKENKEEP" list org.tokenkeep.session.refresh --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["items"][0]["account"])')
printf '{"tokenkeep_refresh":2}' | "$TOKENKEEP" save org.tokenkeep.session.refresh "$item" && refresh apart
printf 'none' | "$TOKENKEEP" save org.tokenkeep.session.refresh "$item" && refresh apart
"$TOKENKEEP" clear org.tokenkeep.session.refresh "$item" && refresh apart

title "the outbox"
printf '{}' | run save org.tokenkeep.session.outbox one
run session flush --exec "$WORK/server"

title "names of sessions are locked"
run lock
run session list

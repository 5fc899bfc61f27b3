# needs: keyring
# Scripts against a real keyring, above a vault.
mkdir -p config/tokenkeep/stack.d
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
cat >scenario.sh <<'SCENARIO'
member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

title "the version of a keyring item is that of every process; a list does not read the secret"
printf one | "$TOKENKEEP" save example.com ann --json >saved
"$TOKENKEEP" load example.com ann --json >loaded
[ "$(member version <saved)" = "$(member version <loaded)" ] && echo same
run list --json

title "compare and swap"
printf two | run save example.com ann --if-version "$(member version <loaded)" >out
sed 's/--if-version [0-9]*/--if-version VERSION/' out
printf three | run save example.com ann --if-version "$(member version <loaded)" >out
sed 's/--if-version [0-9]*/--if-version VERSION/' out
run load example.com ann

title "compare and swap of another program's item"
printf foreign | secret-tool store --label=x service foreign.example username ann
"$TOKENKEEP" load foreign.example ann --json >loaded
printf changed | secret-tool store --label=x service foreign.example username ann
printf ours | "$TOKENKEEP" save foreign.example ann --if-version "$(member version <loaded)"
echo "[exit $?]"
version=$("$TOKENKEEP" load foreign.example ann --json | member version)
printf ours | "$TOKENKEEP" save foreign.example ann --if-version "$version"
echo "[exit $?]"
secret-tool lookup service foreign.example username ann
echo

title "the first call on a machine: the load makes the vault, whose key all later versions come from"
export TOKENKEEP_VAULT=$WORK/first
version=$("$TOKENKEEP" load foreign.example ann --json | member version)
printf first | "$TOKENKEEP" save foreign.example ann --if-version "$version"
echo "[exit $?]"
export TOKENKEEP_VAULT=$WORK/vault

title "what migrate would move"
run migrate --from secret-service --to vault --dry-run

title "a service is cleared as a whole while no keyring is there"
for account in ann bob; do printf "$account" | run save away.example "$account"; done
bus=$DBUS_SESSION_BUS_ADDRESS
export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus
run clear away.example --all
run load away.example ann
"$TOKENKEEP" status | grep "pending for" | sed 's/since .*/since .../'
"$TOKENKEEP" status --json | python3 -c 'import json, sys; print([[o["what"], o["service"], o["account"]] for o in json.load(sys.stdin)["pending"]])'
export DBUS_SESSION_BUS_ADDRESS=$bus
run load away.example ann
run load away.example bob
run sync
secret-tool lookup service away.example username bob || echo none

title "a locked keyring: the list says so, and shows the rest"
printf v | "$TOKENKEEP" save vault.example ann --stack "any required vault"
collection=/org/freedesktop/secrets/collection/login
gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets \
    -m org.freedesktop.Secret.Service.Lock "['$collection']" >lock.log 2>&1 || cat lock.log
run list
run list --json
run list --stack "any required secret-service"
run load example.com
run load example.com ann
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"

# No bus is there: what the secret service should get is owed to it.
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
owed() { "$TOKENKEEP" status --stack "$both" | grep owed; }

title "nothing is owed"
run sync
run sync --stack "$both"
run forget secret-service --yes
run migrate --from vault --to secret-service --stack "$both"
[ -e "$TOKENKEEP_VAULT" ] || echo "nothing was made"

title "a service that is away"
printf token | run save example.com ann --stack "$both"
printf token | run save example.com bob --stack "$both" --namespace two
printf token | run save example.com cyd --stack "$both"
run clear example.com cyd --stack "$both"
owed
run sync --stack "$both"
run sync
"$TOKENKEEP" status --json | python3 -c '
import json, sys
state = json.load(sys.stdin)
print("problem:", state["owed_problem"])
for owed in state["owed"]:
    owed["since"] = "TIME" if len(owed["since"]) == 20 else owed["since"]
    print(json.dumps(owed, sort_keys=True))'

title "why it is still owed"
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus run sync --explain --stack "$both"

title "on a terminal: a bar"
on_terminal -- "$TOKENKEEP" sync --stack "$both"

title "forgetting asks, or is told not to"
run forget secret-service
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" forget secret-service
on_terminal 'expect:[y/N] ' 'send:\x04' -- "$TOKENKEEP" forget secret-service
owed
on_terminal 'expect:[y/N] ' 'send:y\n' -- "$TOKENKEEP" forget secret-service
owed || echo "nothing is owed"
run sync --stack "$both"
run load example.com ann
run forget ../used --yes

title "moving"
run migrate --from secret-service --to vault --stack "$both"
run migrate --from vault --to secret-service --stack "$both"
run migrate --from vault --to secret-service --stack "$both" --dry-run --service example.com
run migrate --from vault --to secret-service --stack "$both" --service other
on_terminal -- "$TOKENKEEP" migrate --from vault --to secret-service --stack "$both"
run load example.com ann
run migrate --from vault --to vault --stack "$both"
run migrate --from vault --to nowhere --stack "$both"
run migrate --from vault --to secret-service
run migrate --from vault --to memory --stack "$both"$'\nany optional memory'
run migrate --from vault

title "a damaged record"
printf token | run save example.com dan --stack "$both"
echo damaged >"$(find "$(era)/pending" -type f | sed 's|/pending/|/records/|')"
run sync --stack "$both"
"$TOKENKEEP" status | sed -n '/owed/,/hint/p'
run forget secret-service --yes

title "a module that is there again"
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES"
cat >"$TOKENKEEP_MODULES/shelf" <<'END'
#!/bin/sh
while IFS= read -r line && [ -n "$line" ]; do
    case $line in operation=*) operation=${line#*=} ;; esac
done
printf 'tokenkeep=1\n'
if [ -e "${0%/*}/../away" ]; then
    echo status=unavailable
else
    case $operation in
    load) echo status=not_found ;;
    *) echo status=ok ;;
    esac
fi
echo
END
chmod 755 "$TOKENKEEP_MODULES/shelf"
rm -r "$TOKENKEEP_VAULT"
shelf=$'any sufficient shelf\nany required vault'
touch "$WORK/away"
printf token | run save example.com ann --stack "$shelf"
rm "$WORK/away"
run forget shelf --stack "$shelf" --yes
on_terminal -- "$TOKENKEEP" forget shelf --stack "$shelf"
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" forget shelf --stack "$shelf" --though-reachable
"$TOKENKEEP" status --stack "$shelf" | grep owed
run forget shelf --stack "$shelf" --yes --though-reachable
run forget shelf --stack "$shelf" --yes

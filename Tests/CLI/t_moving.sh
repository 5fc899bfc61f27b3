# No bus is there: what the secret service should get is pending for it.
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
pending() { "$TOKENKEEP" status --stack "$both" | grep "pending for"; }

title "nothing is pending"
run sync
run sync --stack "$both"
run forget secret-service --yes
run migrate --from vault --to secret-service --stack "$both"
[ -e "$TOKENKEEP_VAULT" ] || echo "nothing was made"

title "a service that is away"
use_service "$both"
printf token | run save example.com ann --stack "$both"
printf token | run save example.com bob --stack "$both" --namespace two
printf token | run save example.com cyd --stack "$both"
run clear example.com cyd --stack "$both"
pending
run sync --stack "$both"
run sync
"$TOKENKEEP" status --json | python3 -c '
import json, sys
state = json.load(sys.stdin)
print("problem:", state["pending_problem"])
for part in state["pending"]:
    part["since"] = "TIME" if len(part["since"]) == 20 else part["since"]
    print(json.dumps(part, sort_keys=True))'

title "why it is still pending"
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus run sync --explain --stack "$both"

# How often it is drawn depends on the time that the work takes.
title "on a terminal: a bar"
on_terminal -- "$TOKENKEEP" sync --stack "$both" | sed -E 's/(\[[#.]{30}\] [0-3]\/3)+/BAR/'

title "forgetting asks, or is told not to"
run forget secret-service
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" forget secret-service
on_terminal 'expect:[y/N] ' 'send:\x04' -- "$TOKENKEEP" forget secret-service
pending
on_terminal 'expect:[y/N] ' 'send:y\n' -- "$TOKENKEEP" forget secret-service
pending || echo "nothing is pending"
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
use_service "$both"
printf token | run save example.com dan --stack "$both"
echo damaged >"$(find "$(era)/pending" -type f | sed 's|/pending/|/records/|')"
run sync --stack "$both"
"$TOKENKEEP" status | sed -n '/pending/,/hint/p'
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
"$TOKENKEEP" status --stack "$shelf" | grep "pending for"
run forget shelf --stack "$shelf" --yes --though-reachable
run forget shelf --stack "$shelf" --yes

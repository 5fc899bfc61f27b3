title "before the vault is made"
run status
run status --json
[ -e "$TOKENKEEP_VAULT" ] || echo "nothing was made"

title "after"
printf x | run save example.com ann
run status
run status --stack $'any required memory\nany required vault\nload optional vault'
"$TOKENKEEP" status --json | python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))'

title "out of reach"
chmod 755 "$TOKENKEEP_VAULT"
run status
run status --json
chmod 700 "$TOKENKEEP_VAULT"

title "memory that cannot be locked"
(
    ulimit -l 0
    command=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$TOKENKEEP")
    [ "$(id -u)" = 0 ] || command=("$TOKENKEEP")
    "${command[@]}" status
    printf secret | "${command[@]}" save example.com unlocked
    "${command[@]}" load example.com unlocked
    echo
)

# Whoever is killed with kill -9 while a program works for him changes nothing any more: what is saved afterwards stays.
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES" kept

# A module that keeps one item. For a secret that begins with "slow" it waits for a line, by itself or in a child.
cat >"$TOKENKEEP_MODULES/slow" <<'END'
#!/bin/bash
while IFS= read -r line && [ -n "$line" ]; do
    case $line in
    operation=*) operation=${line#*=} ;;
    secret+=*) secret=${line#*=} ;;
    argument=*) kept=$(echo "${line#*=}" | base64 -d)/item ;;
    esac
done
write() { printf 'secret+=%s\n' "$secret" >"$kept.new" && mv "$kept.new" "$kept"; }
status=ok
case $operation in
save)
    case $(echo "$secret" | base64 -d) in
    slow-child)
        # What the shell is killed in does not end it: the shell waits, and the child writes.
        bash -c 'echo $$ >"$1.new"; mv "$1.new" "$1.begun"; read -r <>"$1.pipe"; printf "secret+=%s\n" "$2" >"$1"' - "$kept" "$secret" ;;
    slow)
        echo $$ >"$kept.new" && mv "$kept.new" "$kept.begun"
        read -r <>"$kept.pipe"
        write ;;
    *) write ;;
    esac ;;
load) [ -e "$kept" ] || status=not_found ;;
clear) rm -f "$kept" ;;
report) ;;
*) status=unsupported ;;
esac
printf 'tokenkeep=1\nstatus=%s\n' "$status"
if [ "$operation" = load ] && [ "$status" = ok ]; then cat "$kept"; fi
echo
END
chmod 755 "$TOKENKEEP_MODULES/slow"
stack="any required slow $WORK/kept"

# Saves a slow value, kills the program while the module works, and saves another value. A module that lives on gets its line
# then.
interrupted() {
    printf %s "$1" >secret
    rm -f kept/item.begun kept/item.pipe
    mkfifo kept/item.pipe
    "$TOKENKEEP" save example.com ann --stack "$stack" --timeout 60s <secret &
    until [ -e kept/item.begun ]; do :; done
    {
        kill -9 $!
        wait $!
    } 2>/dev/null
    echo "killed: $?"
    printf new | run save example.com ann --stack "$stack"
    echo 1<>kept/item.pipe
    while grep -qs '^State:.[^ZX]' "/proc/$(cat kept/item.begun)/status"; do :; done
    run load example.com ann --stack "$stack"
}

title "a program that works by itself"
interrupted slow

title "a program whose child works"
interrupted slow-child

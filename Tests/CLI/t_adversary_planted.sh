# needs: nacl
# Who has every file of a vault with a password, its keyfile too, puts keys and items of his own there.
keys() { python3 "$HERE/keys.py" "$@"; }
plant() { /usr/bin/python3 "$HERE/plant.py" "$TOKENKEEP_VAULT" "$@"; }
files() { (cd "$TOKENKEEP_VAULT" && find . -type f -exec sha256sum {} + | sort -k2); }
put_back() {
    place_vault "$WORK/right"
    "$TOKENKEEP" unlock --stdin <<<horse || echo "the right files do not open"
}
# The vault's user knows of nothing.
use() {
    run load example.com ann
    printf new | run save example.com ann
    printf new | run save example.com new
    run unlock --stdin <<<horse
    printf new | run save example.com new
    printf 'horse\nbattery\n' | run password change --stdin
    printf 'horse\nbattery\n' | run password change --stdin --compromised
    run password remove --stdin <<<horse
}
unlocked() { :; }
locked() { "$TOKENKEEP" lock; }
started() { "$TOKENKEEP" lock && keys forget "$TOKENKEEP_VAULT"; }

printf secret | run save example.com ann
run password set --stdin <<<horse
cp -a "$TOKENKEEP_VAULT" "$WORK/right"

for what in plant_keyfile_slot plant_retiring_key replace_header; do
    for state in unlocked locked started; do
        title "$what, $state"
        $state
        plant $what
        files >before
        use >"$WORK/tmp/used"
        # Each command is refused in the same words.
        grep -v '^\$\|^! hint' "$WORK/tmp/used" | sort | uniq -c
        files | diff before - && echo "nothing was written"
        put_back
    done
done

title "an item injected into a locked vault: the user never gets it, and what he saves there is his"
locked
plant inject ann
run load example.com ann
run unlock --stdin <<<horse
run load example.com ann
printf 'horse\nbattery\n' | run password change --stdin --compromised
run load example.com ann
printf new | run save example.com ann
run load example.com ann
# The keys were replaced: the files of before are an older copy, which is read from the next start of the machine on.
"$TOKENKEEP" lock && keys forget "$TOKENKEEP_VAULT"
put_back

title "an item that was never there"
locked
plant inject eve
run load example.com eve
run unlock --stdin <<<horse
run load example.com eve
run list
run lock

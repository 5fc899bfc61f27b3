# A watch in the background; `told N` waits until it has told N lines, and shows what is new of them.
begin() {
    : >told
    # A shell without jobs starts what is in the background with SIGINT ignored.
    env --default-signal=INT "$TOKENKEEP" watch "$@" >told 2>told.err &
    watcher=$!
    shown=0
    told 1
}
told() {
    # Each line is written at once; the scenario's own time limit ends a wait for one that never comes.
    tail -n +$((shown + 1)) -f told --pid="$watcher" | head -n $(($1 - shown)) | sed 's/\t/<TAB>/g'
    shown=$1
}
# Waits until a line with these words is told, whatever else is, and shows the line.
until_told() {
    tail -n +$((shown + 1)) -f told --pid="$watcher" | grep --max-count=1 "$1" | sed 's/\t/<TAB>/g'
    shown=$(wc -l <told)
}
finish() {
    kill -s "$1" "$watcher"
    wait "$watcher" 2>/dev/null
    echo "[exit $?]"
    cat told.err
    tail -n +$((shown + 1)) told
}
save() { printf %s "$1" | "$TOKENKEEP" save "$2" "$3"; }

title "each change is a line, whoever made it"
begin
save 1 example.com ann
told 2
save 2 example.com ann
told 3
save 2 example.com ann
"$TOKENKEEP" clear example.com nobody
save 1 other.example ''
told 4
"$TOKENKEEP" clear example.com ann
told 5
finish TERM

title "one service, as JSON"
save 1 example.com ann
begin example.com --json
save 1 other.example bob
save 1 example.com $'"\u202e猫'
told 2
python3 -c '
import json
for line in open("told"):
    print(json.loads(line))'
finish INT

title "a namespace"
begin --namespace team --json
printf x | "$TOKENKEEP" save example.com ann --namespace team
told 2
finish TERM

title "the vault is removed, restored and made anew"
begin example.com
mv "$TOKENKEEP_VAULT" "$TOKENKEEP_VAULT.away"
told 3
mv "$TOKENKEEP_VAULT.away" "$TOKENKEEP_VAULT"
told 5
finish TERM

title "the vault is removed while it is watched, and made anew, twice"
(
    export TOKENKEEP_VAULT="$WORK/anew"
    save 1 example.com ann
    begin example.com
    for account in bob carl; do
        rm -rf "$TOKENKEEP_VAULT"
        save 1 example.com "$account"
        until_told "saved.*$account"
        save 2 example.com "$account"
        until_told "saved.*$account"
    done
    finish TERM
)

title "nobody reads any more"
"$TOKENKEEP" watch | head -n 1
echo "[exit ${PIPESTATUS[*]}]"

title "what cannot be watched"
run watch ''
run watch a b
run watch --stack nonsense

title "what cannot be read is said once"
printf 1 | "$TOKENKEEP" save example.com ann
chmod 755 "$TOKENKEEP_VAULT"
begin example.com
chmod 700 "$TOKENKEEP_VAULT"
told 2
save 2 example.com ann
told 3
finish TERM
mv "$TOKENKEEP_VAULT" "$TOKENKEEP_VAULT.real"
ln -s "$TOKENKEEP_VAULT.real" "$TOKENKEEP_VAULT"
begin example.com
finish TERM
rm "$TOKENKEEP_VAULT"
mv "$TOKENKEEP_VAULT.real" "$TOKENKEEP_VAULT"

title "a vault that is locked, and unlocked by another process"
printf 'horse\n' | "$TOKENKEEP" password set --stdin
save 1 example.com bob
"$TOKENKEEP" lock
begin example.com
"$TOKENKEEP" clear example.com ann
told 2
printf 'horse\n' | "$TOKENKEEP" unlock --stdin
told 3
"$TOKENKEEP" clear example.com bob
told 4
finish TERM
"$TOKENKEEP" lock

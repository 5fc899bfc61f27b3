# A watch in the background, whose lines are read from a pipe: `told N` reads and shows as many, and keeps them in `told`.
begin() {
    rm -f lines
    mkfifo lines
    : >told
    # A shell without jobs starts what is in the background with SIGINT ignored.
    env --default-signal=INT "$TOKENKEEP" watch "$@" >lines 2>told.err &
    watcher=$!
    exec 5<lines
    told 1
}
told() {
    local left=$1 line
    # The scenario's own time limit ends a wait for a line that never comes.
    while [ "$left" -gt 0 ] && IFS= read -r line <&5; do
        printf '%s\n' "$line" >>told
        printf '%s\n' "${line//$'\t'/<TAB>}"
        left=$((left - 1))
    done
}
# Makes changes until a line with these words is told, and shows the line: a reading in the middle of another change is told
# as "list-again".
until_told() {
    local words=$1 line
    shift
    while :; do
        "$@"
        line=$(told 1)
        [[ $line == $words ]] && break
    done
    printf '%s\n' "$line"
}
finish() {
    kill -s "$1" "$watcher"
    wait "$watcher" 2>/dev/null
    echo "[exit $?]"
    cat told.err
    # After until_told a rest of "list-again" may be there.
    [ "${2-}" = without-rest ] || cat <&5
    exec 5<&-
}
number=0
save_anew() { save "new $((number += 1))" example.com "$1"; }
save() { printf %s "$1" | "$TOKENKEEP" save "$2" "$3"; }

title "each change is a line, whoever made it"
begin
save 1 example.com ann
told 1
save 2 example.com ann
told 1
save 2 example.com ann
"$TOKENKEEP" clear example.com nobody
save 1 other.example ''
told 1
"$TOKENKEEP" clear example.com ann
told 1
finish TERM

title "one service, as JSON"
save 1 example.com ann
begin example.com --json
save 1 other.example bob
save 1 example.com $'"\u202e猫'
told 1
python3 -c '
import json
for line in open("told"):
    print(json.loads(line))'
finish INT

title "a namespace"
begin --namespace team --json
printf x | "$TOKENKEEP" save example.com ann --namespace team
told 1
finish TERM

title "the vault is removed, restored and made anew"
begin example.com
mv "$TOKENKEEP_VAULT" "$TOKENKEEP_VAULT.away"
told 2
mv "$TOKENKEEP_VAULT.away" "$TOKENKEEP_VAULT"
told 2
finish TERM

title "the vault is removed while it is watched, and made anew, twice"
(
    export TOKENKEEP_VAULT="$WORK/anew"
    save 1 example.com ann
    begin example.com
    for account in bob carl; do
        rm -rf "$TOKENKEEP_VAULT"
        until_told "saved*$account" save_anew "$account"
        until_told "saved*$account" save_anew "$account"
    done
    finish TERM without-rest
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
told 1
save 2 example.com ann
told 1
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
until_told list-again true
printf 'horse\n' | "$TOKENKEEP" unlock --stdin
until_told "saved*bob" save_anew bob
"$TOKENKEEP" clear example.com bob
until_told "cleared*bob" true
finish TERM without-rest
"$TOKENKEEP" lock

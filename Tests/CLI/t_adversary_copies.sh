# needs: root
# Who has a copy of the vault where none of its keys is: another user stands for another machine. The report agrees each time.
cp "$TOKENKEEP" "$WORK/tmp/tokenkeep" && cp "$HERE/keys.py" "$WORK/tmp/keys.py" && chmod 755 "$WORK" "$WORK/tmp" "$WORK/tmp/tokenkeep"
install -d -o 65534 -g 65534 -m 700 "$WORK/other"
printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$WORK/tmp/tokenkeep" >"$WORK/tmp/elsewhere"
chmod 755 "$WORK/tmp/elsewhere"
there() { (export TOKENKEEP="$WORK/tmp/elsewhere" TOKENKEEP_VAULT="$WORK/other/vault"; "$@"); }
# What his machine learned of an earlier copy it knows no more, as after its start.
start_anew() {
    setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 "$WORK/tmp/keys.py" forget "$WORK/other/vault"
}
copy() {
    [ ! -e "$WORK/other/vault" ] || start_anew
    rm -rf "$WORK/other/vault" && cp -a "$1" "$WORK/other/vault" && chown -R 65534:65534 "$WORK/other/vault"
}
# Puts files of a vault's era in force, as the shell expands them there, into the era in force of his copy.
mix() {
    (cd "$(era "$1")" && cp $3 "$(era "$WORK/other/vault")/$2") && chown -R 65534:65534 "$WORK/other/vault"
}
# The report's rows of the two levels, and of the second with user presence.
report() { "$TOKENKEEP" protection | sed -n '1,3p;8p'; }
try() {
    run load example.com screen
    run load example.com first
    report
}

title "no password: the copy opens"
printf secret | run save example.com screen --level when-unlocked
printf secret | run save example.com first
copy "$TOKENKEEP_VAULT"
cp -a "$TOKENKEEP_VAULT" "$WORK/before"
there try

title "a password that he has not"
run password set --stdin <<<horse
printf secret | run save example.com demands --require-enforced
copy "$TOKENKEEP_VAULT"
there try
there run load example.com demands
there run unlock --stdin <<<wrong
there run list
there run export "$WORK/other/export" --stdin <<<passphrase
there run clear example.com screen
cp -a "$TOKENKEEP_VAULT" "$WORK/horse"

title "a password that he knows: no key of the machine takes part"
copy "$TOKENKEEP_VAULT"
there run unlock --stdin <<<horse
there try
there run lock

title "a backup from before the password: what was in it"
copy "$WORK/before"
there try

title "and nothing of what was saved later, whatever he makes of the two"
mix "$TOKENKEEP_VAULT" records 'records/*'
there try
there run load example.com demands
mix "$TOKENKEEP_VAULT" . 'header header.2'
there run load example.com first
mix "$TOKENKEEP_VAULT" . keyfile
there run load example.com first

title "the later era, and the keyfile, the header, or both of the earlier one"
for files in keyfile "header header.2" "keyfile header header.2"; do
    copy "$TOKENKEEP_VAULT"
    mix "$WORK/before" . "$files"
    there run load example.com demands
    there run unlock --stdin <<<horse
done

title "a password that he learned, and a change that was told of it"
printf 'horse\nbattery\n' | run password change --stdin --compromised
printf secret | run save example.com later
copy "$TOKENKEEP_VAULT"
there run unlock --stdin <<<horse
mix "$WORK/horse" . 'header header.2'
there run unlock --stdin <<<horse
there try
mix "$WORK/horse" . keyfile
there run unlock --stdin <<<horse
there run load example.com later

title "the older era in the place of the later one: he has what was in it, and nothing else"
copy "$WORK/horse"
cp -a "$(era)" "$WORK/other/vault/" && chown -R 65534:65534 "$WORK/other/vault"
there run unlock --stdin <<<horse
there try
there run load example.com later
there run lock

title "memory that may be written to the swap space"
(
    ulimit -l 0
    printf '#!/bin/sh\nexec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock %s "$@"\n' "$WORK/tmp/tokenkeep" >"$WORK/tmp/swapped"
    chmod 755 "$WORK/tmp/swapped"
    TOKENKEEP="$WORK/tmp/swapped"
    report
    printf secret | run save example.com demands --require-enforced
)

title "the password removed: the copy opens, and the older one with its password opens nothing of it"
printf battery | run password remove --stdin --destroy-items
printf secret | run save example.com last
copy "$TOKENKEEP_VAULT"
there try
copy "$WORK/horse"
mix "$TOKENKEEP_VAULT" records 'records/*'
there run unlock --stdin <<<horse
there try
there run load example.com last
there run lock

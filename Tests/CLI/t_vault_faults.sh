printf kept | run save example.com ann
"$TOKENKEEP" export backup --stdin <<<passphrase >/dev/null

title "open to other users"
chmod 755 "$TOKENKEEP_VAULT"
run load example.com ann
printf x | run save example.com bob
run list
run clear example.com ann
chmod 700 "$TOKENKEEP_VAULT"
run load example.com ann

title "a symbolic link in its place"
mv "$TOKENKEEP_VAULT" elsewhere
ln -s "$WORK/elsewhere" "$TOKENKEEP_VAULT"
run load example.com ann
printf x | run save example.com bob
rm "$TOKENKEEP_VAULT"

title "a file in its place"
: >"$TOKENKEEP_VAULT"
run load example.com ann
rm "$TOKENKEEP_VAULT"
mv elsewhere "$TOKENKEEP_VAULT"

title "another process holds the vault past the timeout; reading needs no lock"
hold_lock
printf x | run_held save example.com ann
run_held clear example.com ann
run load example.com ann
run_held import backup --replace --stdin <<<passphrase
release_lock

title "a damaged record: the others are unharmed, nothing is deleted"
printf other | "$TOKENKEEP" save example.com bob
before=$(ls "$(era)/records")
printf x | "$TOKENKEEP" save example.com damaged
record=$(comm -13 <(echo "$before") <(ls "$(era)/records"))
python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(-1, 2)
    byte = file.read(1)[0]
    file.seek(-1, 2)
    file.write(bytes([byte ^ 1]))' "$(era)/records/$record"
run load example.com damaged
run load example.com ann
run load example.com bob
[ -e "$(era)/records/$record" ] && echo "the record is there"

title "a damaged header is read from its second copy"
printf damage >"$(era)/header"
run load example.com ann
printf damage >"$(era)/header.2"
run load example.com ann

title "no keyfile"
rm "$(era)/keyfile"
run load example.com ann
printf x | run save example.com ann

title "a place that is no absolute path"
TOKENKEEP_VAULT=relative run load example.com ann

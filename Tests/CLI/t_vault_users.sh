# needs: root
# The program as another user, who must be able to read it.
cp "$TOKENKEEP" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK" "$WORK/tmp" "$WORK/tmp/tokenkeep"
nobody() { (TOKENKEEP="$WORK/tmp/as_nobody" run "$@"); }
printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$WORK/tmp/tokenkeep" >"$WORK/tmp/as_nobody"
chmod 755 "$WORK/tmp/as_nobody"

title "a vault of another user"
printf x | run save example.com ann
chown 65534 "$TOKENKEEP_VAULT"
run load example.com ann
printf x | run save example.com ann
run status
chown 0 "$TOKENKEEP_VAULT"
nobody load example.com ann

title "a directory that cannot be written"
rm -rf "$TOKENKEEP_VAULT"
install -d -o 65534 -g 65534 home "$WORK/own"
TOKENKEEP_VAULT="$WORK/own/vault" nobody save example.com ann <<<kept
chmod 500 "$WORK/own/vault" "$(era "$WORK/own/vault")" "$(era "$WORK/own/vault")/records"
TOKENKEEP_VAULT="$WORK/own/vault" nobody save example.com ann <<<other
TOKENKEEP_VAULT="$WORK/own/vault" nobody clear example.com ann
TOKENKEEP_VAULT="$WORK/own/vault" nobody load example.com ann

title "a vault that cannot be made"
TOKENKEEP_VAULT="$WORK/own/vault/below/vault" nobody save example.com ann <<<other
TOKENKEEP_VAULT=/proc/vault run save example.com ann <<<other
# Told before a sign-in as by the save, without making anything.
TOKENKEEP_VAULT="$WORK/own/vault/below/vault" nobody ready --save
TOKENKEEP_VAULT="$WORK/own/vault/below/vault" nobody ready
TOKENKEEP_VAULT="$WORK/own/vault/below/vault" nobody status
TOKENKEEP_VAULT=/proc/vault run ready --save

title "root in the home of another user, as with sudo -E"
install -d -m 700 -o 54321 -g 54321 "$WORK/ann"
TOKENKEEP_VAULT="$WORK/ann/vault" run save example.com ann <<<x
TOKENKEEP_VAULT="$WORK/ann/vault" run ready --save
TOKENKEEP_VAULT="$WORK/ann/vault" run login status --json | grep -A1 '"vault"'
ls -A "$WORK/ann"
install -d -m 711 -o 54321 -g 54321 "$WORK/ann"
printf '#!/bin/sh\nexec setpriv --reuid=54321 --regid=54321 --clear-groups %s "$@"\n' "$WORK/tmp/tokenkeep" >"$WORK/tmp/as_ann"
chmod 755 "$WORK/tmp/as_ann"
ann() { (TOKENKEEP="$WORK/tmp/as_ann" TOKENKEEP_VAULT="$WORK/ann/vault" run "$@"); }
ann save example.com ann <<<kept
TOKENKEEP_VAULT="$WORK/ann/vault" run load example.com ann
TOKENKEEP_VAULT="$WORK/ann/vault" run unlock --stdin <<<horse
ann load example.com ann

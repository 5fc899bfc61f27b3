# needs: root
# Runs the program as another user than root: modes bind this user, who must be able to read the program.
cp "$TOKENKEEP" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK" "$WORK/tmp" "$WORK/tmp/tokenkeep"
printf '#!/bin/sh\numask "$UMASK"\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' \
    "$WORK/tmp/tokenkeep" >"$WORK/tmp/as_nobody"
chmod 755 "$WORK/tmp/as_nobody"
install -d -o 65534 -g 65534 "$WORK/own"
nobody() { (TOKENKEEP="$WORK/tmp/as_nobody" run "$@"); }
modes() { find "$1" \( -type d ! -perm 700 -o -type f ! -perm 600 \) -printf 'WRONG %m %P\n'; }

for UMASK in 000 027 0377 0777; do
    export UMASK TOKENKEEP_VAULT="$WORK/own/below-$UMASK/vault"
    title "umask $UMASK"
    nobody save example.com ann <<<kept
    nobody load example.com ann
    nobody password set --stdin <<<horse
    nobody unlock --stdin <<<horse
    nobody load example.com ann
    nobody export "$WORK/own/export-$UMASK" --stdin <<<phrase
    nobody clear example.com ann
    nobody lock
    modes "$WORK/own/below-$UMASK"
done

title "a directory that an earlier umask made useless"
UMASK=022
for mode in 000 200 400 600; do
    export TOKENKEEP_VAULT="$WORK/own/useless-$mode"
    install -d -o 65534 -g 65534 -m "$mode" "$TOKENKEEP_VAULT"
    nobody save example.com ann <<<kept
    nobody load example.com ann
    modes "$TOKENKEEP_VAULT"
done

title "a limit of the length of files: an error, and no end of the program by a signal"
export TOKENKEEP_VAULT="$WORK/own/limited" UMASK=077
nobody save example.com ann <<<kept
head -c 3000 /dev/zero | tr '\0' x >"$WORK/long"
printf '#!/bin/sh\nexec prlimit --fsize=512 "$WORK/tmp/as_nobody" "$@"\n' >"$WORK/tmp/limited"
chmod 755 "$WORK/tmp/limited"
limited() { (TOKENKEEP="$WORK/tmp/limited" run "$@"); }
limited save example.com ann <"$WORK/long"
limited save example.com bert <"$WORK/long"
limited export "$WORK/own/limited-export" --stdin <<<phrase
limited load example.com ann
nobody load example.com ann

title "a vault below a directory that may be searched and not read"
export TOKENKEEP_VAULT="$WORK/own/unreadable/vault"
install -d -o 65534 -g 65534 "$WORK/own/unreadable" "$TOKENKEEP_VAULT" -m 700
chmod 300 "$WORK/own/unreadable"
nobody save example.com ann <<<kept
nobody save example.com ann <<<newer
nobody load example.com ann

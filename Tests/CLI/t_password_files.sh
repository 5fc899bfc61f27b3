# needs: root
# Files with a password that a user other than root names.
program=$TOKENKEEP
TOKENKEEP=$WORK/tmp/as-user
chmod 755 "$WORK" "$WORK/tmp" && cp "$program" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK/tmp/tokenkeep"
printf '#!/bin/sh\nexec setpriv --reuid 54321 --regid 54321 --clear-groups %s "$@"\n' "$WORK/tmp/tokenkeep" >"$TOKENKEEP"
chmod 755 "$TOKENKEEP"
install -d -m 700 -o 54321 -g 54321 "$WORK/own"
export TOKENKEEP_VAULT="$WORK/own/vault"
echo horse >"$WORK/password"

# As root makes it, with this owner and this mode.
unlock_with() {
    chown "$1:$1" "$WORK/password" && chmod "$2" "$WORK/password"
    run unlock --password-file "$WORK/password"
    run lock
}

title "a vault with a password"
printf kept | run save example.com ann
run password set --stdin <<<horse

title "a file of root"
unlock_with 0 644
unlock_with 0 600
unlock_with 0 664

title "a file of the user"
unlock_with 54321 600
unlock_with 54321 640
unlock_with 54321 622

title "a file of another user"
unlock_with 12345 644
unlock_with 12345 600

title "what is no descriptor"
run unlock --password-fd x
run unlock --password-fd 99999999999
run password change --password-fd 0 --new-password-fd x <<<horse

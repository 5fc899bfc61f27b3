# needs: root
# Sessions where the kernel has no keyrings, forbids them, or has as many keys of the user as are allowed.
cat >server <<'SCRIPT'
#!/bin/sh
token=$(cat)
echo "$TOKENKEEP_PURPOSE $token" >>requests
if [ "$token" != "refresh-$(cat number)" ]; then echo '{"error":"invalid_grant"}'; exit; fi
number=$(($(cat number) + 1)); echo "$number" >number
[ ! -e meanwhile ] || sh ./meanwhile
printf '{"access_token":"access-%s","expires_in":60,"refresh_token":"refresh-%s"}' "$number" "$number"
SCRIPT
chmod +x server
echo horse >password && chmod 600 password
program=$TOKENKEEP
for reason in ENOSYS EPERM EDQUOT; do
    TOKENKEEP=$WORK/tmp/tokenkeep
    printf '#!/bin/sh\nexec python3 %s/without_keyring.py %s %s "$@"\n' "$HERE" "$reason" "$program" >"$TOKENKEEP"
    chmod +x "$TOKENKEEP"
    export TOKENKEEP_VAULT="$WORK/$reason"
    : >requests; echo 1 >number

    title "$reason: renewed, without a password"
    printf '{"access_token":"access-1","expires_in":0,"refresh_token":"refresh-1"}' | run session begin api.example.com ann
    run session token api.example.com --exec ./server
    printf access-2 | run session rejected api.example.com --exec ./server

    title "$reason: with a password from a file, also if another process locks meanwhile"
    run password set --stdin <<<horse
    echo "'$TOKENKEEP' lock 2>/dev/null" >meanwhile
    export TOKENKEEP_PASSWORD_FILE="$WORK/password"
    run session refresh api.example.com --exec ./server
    run session token api.example.com
    rm meanwhile
    run session show api.example.com --json | grep -E 'state|stashed|generation'

    title "$reason: locked, and nothing is sent"
    unset TOKENKEEP_PASSWORD_FILE
    run session refresh api.example.com ann --exec ./server
    run session show api.example.com | grep state
    run session logout api.example.com ann --exec ./server
    run session token api.example.com ann --exec ./server
    cat requests
    export TOKENKEEP_PASSWORD_FILE="$WORK/password"

    title "$reason: after the unlock the token of the logout is revoked"
    run session flush --exec ./server
    run list
    cat requests
    unset TOKENKEEP_PASSWORD_FILE
done

# Commands of --exec that misbehave. Under `none` the refresh token may be sent again: none of them signs anybody out.
sign_in() { # SERVICE
    printf '{"access_token":"old","expires_in":0,"refresh_token":"refresh"}' |
        "$TOKENKEEP" session begin "$1" ann --rotation none
}
tokens='{"access_token":"new","expires_in":3600}'
printf '#!/bin/sh\ncat >/dev/null\nprintf %%s '"'$tokens'"'\n' >works
chmod +x works
# Runs a command, and then one that works.
try() { # SERVICE COMMAND
    sign_in "$1"
    {
        echo "# $2"
        timeout 60 "$TOKENKEEP" session token "$1" --exec "$2" 2>&1
        echo "[exit $?]"
        "$TOKENKEEP" session token "$1" --exec ./works
    } >"$1.told"
}

# In parallel: the time that an answer may take is 30 seconds.
try silent 'exec sleep 600' &
try slow 'cat >/dev/null; while :; do printf x; sleep 1; done' &
try killed 'cat >/dev/null; kill -KILL $$' &
try closes-output 'exec >&-; cat >/dev/null; sleep 0' &
try closes-input 'exec <&-; printf %s nonsense' &
try huge 'cat >/dev/null; head -c 10485760 /dev/zero | tr "\\0" " "' &
try endless 'cat >/dev/null; exec yes' &
try missing ./missing &
try fails 'cat >/dev/null; echo oops >&2; exit 7' &
try not-sent 'cat >/dev/null; exit 75' &
wait
for service in silent slow killed closes-output closes-input huge endless missing fails not-sent; do
    title "$service"
    cat "$service.told"
done

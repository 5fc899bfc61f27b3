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
        "$TOKENKEEP" session token "$1" --exec "$2" 2>&1
        echo "[exit $?]"
        "$TOKENKEEP" session token "$1" --exec ./works
    } >"$1.told"
}

# An answer may take 30 seconds. These commands pass them, and do not end before they are killed.
try silent 'test-clock advance 40; exec sleep 600'
try slow 'cat >/dev/null; test-clock advance 40; while :; do printf x; sleep 1; done'
try killed 'cat >/dev/null; kill -KILL $$' &
try closes-output 'exec >&-; cat >/dev/null; sleep 0' &
try closes-input 'exec <&-; printf %s nonsense' &
try huge 'cat >/dev/null; head -c 10485760 /dev/zero | tr "\\0" " "' &
try endless 'cat >/dev/null; exec yes' &
try missing ./missing &
try fails 'cat >/dev/null; echo oops >&2; exit 7' &
try not-sent 'cat >/dev/null; exit 75' &
try reads-a-byte 'head -c 1 >/dev/null; exit 3' &
try reads-nothing 'exit 3' &
try says-nothing 'exit 0' &
wait
for service in silent slow killed closes-output closes-input huge endless missing fails not-sent \
    reads-a-byte reads-nothing says-nothing; do
    title "$service"
    cat "$service.told"
done

title "a signal between request and answer: the answer is saved, then the program ends by the signal"
for signal in INT TERM HUP; do
    sign_in "$signal"
    cat >signals <<SCRIPT
#!/bin/sh
cat >/dev/null
kill -$signal "\$PPID"
printf '{"access_token":"saved after $signal","expires_in":3600}'
SCRIPT
    chmod +x signals
    # The shell reports the end of its job.
    { env --default-signal="$signal" "$TOKENKEEP" session token "$signal" --exec 'exec ./signals'; } 2>err
    echo "[exit $?]"
    "$TOKENKEEP" session token "$signal"
done

title "tokens are in no argument, no environment, no message and no step that --explain shows"
printf '{"access_token":"planted-access","expires_in":0,"refresh_token":"planted-refresh"}' |
    "$TOKENKEEP" session begin planted ann
cat >looks <<'SCRIPT'
#!/bin/sh
cat >/dev/null
cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/$$/cmdline /proc/$$/environ >>seen
printf '{"access_token":"planted-second","expires_in":0,"refresh_token":"planted-third"}'
SCRIPT
chmod +x looks
: >said
for command in token refresh validate logout; do
    "$TOKENKEEP" session "$command" planted --exec 'exec ./looks' --explain 2>>said >>out
done
for command in 'list --json' 'show planted ann --json' 'show planted ann' list; do "$TOKENKEEP" session $command >>said 2>&1; done
"$TOKENKEEP" status >>said 2>&1
grep -c sends said
grep -c planted-second out
[ "$(wc -c <seen)" -gt 100 ] && echo "something was seen"
grep -alE 'planted-(access|refresh|second|third)' seen said
grep -raqE 'planted-(access|refresh|second|third)' "$TOKENKEEP_VAULT" "$HOME" || echo nowhere

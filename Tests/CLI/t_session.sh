# A server with strict rotation: a script for --exec. It notes what it was asked.
cat >server <<'SCRIPT'
#!/bin/sh
token=$(cat)
exec 9>>lock; flock 9
echo "$TOKENKEEP_PURPOSE $TOKENKEEP_SERVICE $TOKENKEEP_ACCOUNT $token" >>requests
[ ! -e answer ] || { cat answer; rm answer; exit "$(cat code 2>/dev/null || echo 0)"; }
case $TOKENKEEP_PURPOSE in
refresh) ;;
validate) printf 'HTTP/1.1 204 No Content\r\n\r\n'; exit 0 ;;
*) exit 0 ;;
esac
number=$(cat number)
if [ "$token" != "refresh-$number" ]; then echo '{"error":"invalid_grant"}'; exit 0; fi
number=$((number + 1)); echo "$number" >number
printf '{"access_token":"access-%s","token_type":"Bearer","expires_in":%s,"refresh_token":"refresh-%s"}' \
    "$number$TOKENKEEP_RESOURCE" "$(cat lifetime)" "$number"
SCRIPT
chmod +x server
echo 1 >number; echo 3600 >lifetime; : >requests
sign_in() { # SERVICE ACCOUNT SECONDS
    printf '{"access_token":"access-1","token_type":"Bearer","expires_in":%s,"refresh_token":"refresh-1"}' "$3" |
        run session begin "$1" "$2"
    echo 1 >number; : >requests
}

title "nobody is signed in"
run session list
run session token api.example.com
run session token api.example.com ann

title "a token that is good is written without a request"
sign_in api.example.com ann 3600
run session token api.example.com
run session token api.example.com ann --header --exec ./server
echo '{"access_token":"access-0","token_type":"bearer"}' | run session begin small.example.com ann
run session token small.example.com ann --header
run session logout small.example.com --local
cat requests

title "a token that is over is renewed, once for eight processes"
sign_in api.example.com ann 0
for number in 1 2 3 4 5 6 7 8; do
    "$TOKENKEEP" session token api.example.com --exec ./server >"token.$number" 2>&1 &
done
wait
sort -u token.*
cat requests

title "the refused token is renewed, and not twice"
printf access-2 | run session rejected api.example.com --exec ./server
printf access-2 | run session rejected api.example.com --exec ./server
run session refresh api.example.com --exec ./server
cat requests

title "without --exec the token in hand is written to its end"
run session refresh api.example.com
run session token api.example.com --min-ttl 2h | sed 's/ends in [0-9]* s/ends in N s/'
run session token api.example.com --min-ttl 7200 | sed 's/ends in [0-9]* s/ends in N s/'
run session token api.example.com --min-ttl soon

title "accounts: the first is active until another is chosen"
sign_in api.example.com bob 3600
run session list api.example.com --json | sed 's/20[0-9-]*T[0-9:]*Z/TIME/'
run session switch api.example.com bob
run session show api.example.com | sed 's/20[0-9-]*T[0-9:]*Z/TIME/'
run session switch api.example.com eve
run session token api.example.com eve

title "what is no token response changes nothing"
for response in '' '[]' '{}' '{"access_token":""}' '{"access_token":"a","token_type":"mac"}' \
    '{"access_token":"a","token_type":"DPoP"}' '<html></html>'; do
    printf %s "$response" | run session begin api.example.com bob
done
run session token api.example.com bob
printf x | run session begin api.example.com bob --rotation never
printf x | run session begin api.example.com bob --level memory-only
printf x | run session begin api.example.com bob --raw --guest
printf x | run session begin api.example.com bob --refresh-level always
printf '{"access_token":"a","refresh_token":"b"}' |
    run session begin api.example.com bob --level when-unlocked --refresh-level after-first-unlock

title "the server's answers: what is none never signs out"
sign_in web ann 0
echo '<html>captive portal</html>' >answer
run session token web --exec ./server
printf 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\n\r\n' >answer
run session token web --exec ./server
run session token web --exec ./server | sed 's/for [0-9]* s more/for N s more/'
cat requests
sign_in web ann 0
echo 75 >code; : >answer
run session token web --exec ./server
sign_in web ann 0
echo 1 >code; : >answer
run session token web --exec ./server
rm code
sign_in web ann 0
printf 'HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 400 Bad Request\r\nDate: x\r\n\r\n{"error":"invalid_grant"}' >answer
run session token web --exec ./server
run session token web --exec ./server
run session show web ann | sed 's/20[0-9-]*T[0-9:]*Z/TIME/'
cat requests

title "a command that leaves a process behind, which keeps the output: the answer counts"
sign_in behind ann 0
cat >behind <<'SCRIPT'
#!/bin/sh
cat >/dev/null
printf '{"access_token":"kept","expires_in":3600,"refresh_token":"next"}'
sleep 600 &
echo "$!" >left
SCRIPT
chmod +x behind
timeout "$PATIENCE" "$TOKENKEEP" session token behind --exec ./behind; echo "[exit $?]"
kill "$(cat left)"

title "a caller that ignores SIGCHLD"
sign_in ignored ann 0
printf '{"access_token":"kept","expires_in":3600,"refresh_token":"next"}' >answer
env --ignore-signal=CHLD "$TOKENKEEP" session token ignored --exec ./server; echo "[exit $?]"

title "a resource has a token of its own"
sign_in several ann 3600
run session token several --resource https://files --exec ./server
run session token several --resource https://files
run session token several
run session token several --resource files --exec ./server
printf access-2https://files | run session rejected several --resource https://files --scope read --exec ./server
cat requests

title "the server is asked about the token, and to extend the session"
sign_in asking ann 3600
run session validate asking --exec ./server
run session validate asking
run session show asking --json | grep -c '"validated_at" : "20'
printf 'HTTP/1.1 403 Forbidden\r\n\r\n' >answer
run session validate asking --exec ./server
printf 'HTTP/1.1 401 Unauthorized\r\n\r\n' >answer
run session validate asking --exec ./server
cat requests
run session validate asking --exec 'cat >/dev/null'
run session extend asking --by 1m --exec ./server
run session extend asking --by 1h --exec ./server
run session extend asking --by soon --exec ./server
run session extend asking --exec ./server
cat >extends <<'SCRIPT'
#!/bin/sh
cat >/dev/null
echo "{\"expires_in\":$TOKENKEEP_SECONDS}"
SCRIPT
chmod +x extends
run session extend asking --by 1d --exec ./extends
run session token asking --min-ttl 23h

title "the id of the device stays"
run session device | sed 's/[0-9a-f]\{8\}-[0-9a-f]\{4\}-4[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-[0-9a-f]\{12\}/UUID/'
[ "$("$TOKENKEEP" session device)" = "$("$TOKENKEEP" session device)" ] && echo same

title "the steps, without a token"
sign_in steps ann 0
"$TOKENKEEP" session token steps --exec ./server --explain 2>&1 >/dev/null | grep -v '^tokenkeep: \(load\|save\|list\) '
"$TOKENKEEP" session token steps --explain 2>&1 >/dev/null | grep -c access-

title "Ctrl-C after the token was sent: the answer is saved, then the program ends by the signal"
sign_in signals ann 0
cat >slow <<'SCRIPT'
#!/bin/sh
token=$(cat)
kill -INT "$PPID"
printf '{"access_token":"saved","expires_in":3600,"refresh_token":"next"}'
SCRIPT
chmod +x slow
"$TOKENKEEP" session token signals --exec 'exec ./slow' >out 2>err
echo "[exit $?]"
cat out err
run session token signals

title "a vault that is locked while the server answers: the answer is kept under its password"
sign_in locked ann 0
run password set --stdin <<<horse
cat >locking <<'SCRIPT'
#!/bin/sh
cat >/dev/null
"$TOKENKEEP" lock
printf '{"access_token":"stashed-access","expires_in":3600,"refresh_token":"stashed-refresh"}'
SCRIPT
chmod +x locking
export TOKENKEEP
"$TOKENKEEP" session token locked --exec ./locking; echo "[exit $?]"
run session token locked
run session show locked ann | sed 's/20[0-9-]*T[0-9:]*Z/TIME/'
"$TOKENKEEP" status | grep -A1 '^sessions'
run load locked ann
grep -rlE 'stashed-(access|refresh)' "$TOKENKEEP_VAULT"
run unlock --stdin <<<horse
run session token locked
run session show locked ann | grep -c stashed
"$TOKENKEEP" load locked ann | grep -c stashed-refresh
run password remove --stdin <<<horse

title "logout: here at once, at the server, by hooks"
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/logout.d"
printf '#!/bin/sh\necho "caches of $TOKENKEEP_ACCOUNT at $TOKENKEEP_SERVICE" >>"%s"\n' "$PWD/hooks" \
    >"$XDG_CONFIG_HOME/tokenkeep/logout.d/10-caches"
printf '#!/bin/sh\nexit 3\n' >"$XDG_CONFIG_HOME/tokenkeep/logout.d/20-fails"
printf 'no program\n' >"$XDG_CONFIG_HOME/tokenkeep/logout.d/README"
chmod 755 "$XDG_CONFIG_HOME/tokenkeep/logout.d"/[12]0-*
: >requests
run session logout api.example.com bob --exec ./server --json
cat requests hooks
run session token api.example.com bob
run session token api.example.com
run session logout api.example.com ann
run session show api.example.com ann --json | grep '"outbox"'
run session flush
run session flush --exec ./server
run session flush --exec ./server
run session show api.example.com ann --json | grep '"outbox"'
run session logout api.example.com ann
chmod 775 "$XDG_CONFIG_HOME/tokenkeep/logout.d/10-caches"
chmod o+w "$XDG_CONFIG_HOME/tokenkeep/logout.d/10-caches"
run session logout signals ann --local 2>&1 | sed "s|$XDG_CONFIG_HOME|CONFIG|g"
run session token signals ann
sign_in signals ann 3600
chmod 777 "$XDG_CONFIG_HOME/tokenkeep/logout.d"
run session logout signals ann --local --json 2>&1 | sed "s|$XDG_CONFIG_HOME|CONFIG|g"
run session token signals ann
sign_in signals ann 3600
rm -r "$XDG_CONFIG_HOME/tokenkeep/logout.d"
sign_in many ann 3600
sign_in many bob 3600
run session logout many --all --local
run session list many

title "a refresh token at a stricter level"
printf '{"access_token":"access-1","token_type":"Bearer","expires_in":0,"refresh_token":"refresh-1"}' |
    run session begin apart ann --refresh-level when-unlocked
echo 1 >number
run list org.tokenkeep.session.refresh | sed 's/[0-9a-f]\{32\}/ID/; s/20[0-9-]*T[0-9:]*Z/TIME/g; s/20[0-9-]* [0-9:]*/TIME/g'
"$TOKENKEEP" load apart ann | grep -c refresh-1
run session token apart --exec ./server
run session show apart | grep level
run password set --stdin <<<horse
run lock --screen
run session token apart
run session refresh apart --exec ./server
run session logout apart --exec ./server
run load apart ann
run unlock --stdin <<<horse
: >requests
run session flush --exec ./server
cat requests
run list org.tokenkeep.session.refresh
run password remove --stdin <<<horse

title "claims: of a JSON Web Token alone"
printf %s eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ. | run session begin jwt ann --raw
run session claims jwt
run session claims signals
printf opaque | run session begin jwt bob --raw
run session claims jwt bob

title "a record of another program is taken over"
printf '{"accessToken":"old","refreshToken":"r"}' | run save old.example.com ann
run session token old.example.com ann
printf 'no session' | run save old.example.com bob
run session token old.example.com bob

title "wrong usage"
run session
run session begin api.example.com
run session sing

title "on a terminal, a wait of more than a second is shown"
sign_in waiting ann 0
mkfifo asked gate
cat >slow <<'SCRIPT'
#!/bin/sh
cat >/dev/null
echo asked >asked
cat gate >/dev/null
printf '{"access_token":"slow","expires_in":3600,"refresh_token":"next"}'
SCRIPT
chmod +x slow
"$TOKENKEEP" session token waiting --exec ./slow >first 2>&1 &
holder=$!
cat asked >/dev/null
on_terminal "expect:waiting for process $holder, which is renewing the token" 'send:\n' \
    -- bash -c '"$0" session token waiting --exec ./slow & read -r; echo go >gate; wait $!' "$TOKENKEEP" | sed "s/$holder/N/"
wait "$holder"
cat first

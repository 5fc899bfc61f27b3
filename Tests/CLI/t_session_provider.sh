# needs: openssl
# Sessions whose server is asked by libcurl, at the endpoints of the provider's file.
export XDG_CACHE_HOME="$WORK/cache"
serve
https="https://127.0.0.1:$(port https)"
places() { sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g'; }
put() { printf "$2" >"config/tokenkeep/providers.d/$1.conf"; }
put example "issuer = $https\nca_file = $WORK/served/ca.pem\nclient_id = app\nrotation = overlap 30\nuserinfo_endpoint = $https/me\nextend_endpoint = $https/extend\n"
sign_in() { # ACCOUNT SECONDS NUMBER [OPTION...]
    local account=$1 seconds=$2 number=$3
    shift 3
    printf '{"access_token":"access-%s","token_type":"Bearer","expires_in":%s,"refresh_token":"refresh-%s"}' \
        "$number" "$seconds" "$number" | run session begin api.example.com "$account" "$@"
}
requests() { cat served/requests; : >served/requests; }

title "a token that is over is renewed, once for eight processes"
sign_in ann 0 1 --provider example
for number in 1 2 3 4 5 6 7 8; do
    "$TOKENKEEP" session token api.example.com >"token.$number" 2>&1 &
    processes="${processes-} $!"
done
wait $processes
sort -u token.*
requests
run session show api.example.com | grep -E 'provider|rotation|tokens so far'

title "refresh, a rejected token, a resource"
run session refresh api.example.com
printf access-3 | run session rejected api.example.com
run session token api.example.com --resource https://files.example.com
requests

title "the server accepts the token, and lets it last longer"
run session validate api.example.com
run session extend api.example.com --by 1h
requests

title "a logout revokes at the server"
run session logout api.example.com --json
requests

title "a logout without the server is made up for by a flush"
sign_in ann 3600 6 --provider example
put example "revocation_endpoint = http://127.0.0.1:1/revoke\n"
run session logout api.example.com
put example "revocation_endpoint = $https/revoke\nca_file = $WORK/served/ca.pem\n"
run session flush
requests

title "nothing was sent: the token stays unspent"
sign_in ann 0 6 --provider example
put example "token_endpoint = https://127.0.0.1:$(port selfsigned)/token\nca_file = $WORK/served/ca.pem\n"
run session refresh api.example.com 2>&1 | places
run session show api.example.com --json | grep -E '"(refreshing|state)"'
put example "token_endpoint = $https/token\nca_file = $WORK/served/ca.pem\n"
run session refresh api.example.com
requests

title "Ctrl-C after the token was sent waits for the answer"
mkfifo served/gate
put example "token_endpoint = $https/waits\nca_file = $WORK/served/ca.pem\n"
env --default-signal=INT "$TOKENKEEP" session refresh api.example.com >told &
background=$!
tail -n +1 -f served/requests --pid="$background" | grep -m 1 -o /waits
kill -INT "$background"
: >served/gate
wait "$background"
echo "[exit $?]"
cat told
run session show api.example.com | grep "tokens so far"
requests

title "the answer was lost: the token is not sent again by strict rotation"
put example "token_endpoint = $https/cuts\nca_file = $WORK/served/ca.pem\nrotation = strict\n"
sign_in ann 3600 8 --provider example
run session refresh api.example.com 2>&1 | places
run session refresh api.example.com 2>&1 | places
requests

title "a session without a provider, a provider without the endpoint, a wrong file"
sign_in bob 0 1
run session token api.example.com bob
run session logout api.example.com bob
put example "client_id = app\n"
run session validate api.example.com ann
sign_in carl 3600 1 --provider example
put example "nonsense\n"
run session refresh api.example.com carl
sign_in dora 3600 1 --provider example
put example "exec = echo '{\"access_token\":\"by-a-command\"}'\n"
run session refresh api.example.com carl

title "a keeper asks the provider, and runs --exec for sessions without one"
put example "token_endpoint = $https/token\nca_file = $WORK/served/ca.pem\n"
run session logout api.example.com --all --local
sign_in ann 0 8 --provider example
sign_in gus 0 1
: >served/requests
printf '#!/bin/sh\ncat >/dev/null\necho "$TOKENKEEP_PURPOSE for $TOKENKEEP_ACCOUNT" >>asked\nexit 75\n' >asks
chmod +x asks
: >asked
env --default-signal=TERM "$TOKENKEEP" session keep --exec ./asks 2>keep.err &
background=$!
tail -n +1 -f asked --pid="$background" | grep -m 1 "refresh for gus"
tail -n +1 -f served/requests --pid="$background" | grep -m 1 -o "/token"
until "$TOKENKEEP" session show api.example.com ann | grep "tokens so far: 2"; do :; done
kill -TERM "$background"
wait "$background" 2>/dev/null

title "a provider's file that is gone is named"
put gone-from-here "token_endpoint = $https/token\n"
sign_in hal 0 1 --provider gone-from-here
rm config/tokenkeep/providers.d/gone-from-here.conf
run session token api.example.com hal

title "load opens no libcurl, a refresh does"
put example "token_endpoint = $https/token\nca_file = $WORK/served/ca.pem\n"
sign_in ann 0 8 --provider example
printf secret | run save example.com ann
traced() { strace -f -qq -e trace=openat -o trace "$TOKENKEEP" "$@" >/dev/null 2>&1; grep -c 'libcurl[^"]*".* = [0-9]' trace; }
traced load example.com ann
traced session list
traced session token api.example.com ann
kill "$server"
wait "$server" 2>/dev/null
true

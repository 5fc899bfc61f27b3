# needs: openssl
# Sign-ins at a server of the tests: by browser, device code and a pasted address.
export XDG_CACHE_HOME="$WORK/cache"
serve
https="https://127.0.0.1:$(port https)"
put() { printf "$2" >"config/tokenkeep/providers.d/$1.conf"; }
own="issuer = $https\nca_file = $WORK/served/ca.pem\nclient_id = app\n"
put example "$own"
put refuses "${own}authorization_endpoint = $https/authorize-refused\n"
put elsewhere "${own}authorization_endpoint = $https/authorize-elsewhere\n"
put used "${own}authorization_endpoint = $https/authorize-used\n"
put wordless "${own}token_endpoint = $https/wordless\n"
put scant "${own}token_endpoint = $https/scant\nscope = read write\n"
put nameless "issuer = $https\n"
# A browser that follows the server's answer.
printf '#!/bin/sh\nexec curl -sL --cacert %s/served/ca.pem -o page "$1"\n' "$WORK" >browse
chmod 700 browse
export BROWSER="$WORK/browse"
login() { # like run; addresses, states and ports differ from run to run
    run session login "$@" 2>&1 | sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(authorize[a-z-]*\?).*/\1…/'
}

title "the browser comes back"
login api.example.com ann --provider example --flow browser
run session token api.example.com ann
grep -o "<h1>[^<]*" page
ls -R vault | grep -c code

title "signing in again replaces the session; the old token of the same client is left alone"
login api.example.com ann --provider example --flow browser
run session token api.example.com ann
run session flush

title "the token of another provider's session is revoked"
put second "$own"
login api.example.com ann --provider second --flow browser
run session flush
grep -o 'POST /revoke token=refresh-[0-9]*' served/requests

title "a refusal, and an answer of another server, leave the session as it was"
login api.example.com ann --provider refuses --flow browser
login api.example.com ann --provider elsewhere --flow browser
run session token api.example.com ann

title "a code that was used, and a refusal without a word"
login api.example.com ann --provider used --flow browser
login api.example.com ann --provider wordless --flow browser
run session token api.example.com ann

title "other scopes than asked for, and no refresh token, are said"
login api.example.com ivy --provider scant --flow browser
run session logout api.example.com ivy

title "a code for another device"
login api.example.com bob --provider example --flow device
run session token api.example.com bob

title "the address to which a browser elsewhere was sent is pasted"
mkfifo paste
: >asked # before the program has it
"$TOKENKEEP" session login api.example.com eve --provider example --flow paste <paste 2>>asked &
login=$!
exec 3>paste
tail -n +1 -f asked --pid="$login" | grep -m 1 -o 'https://.*' >address
curl -s --cacert served/ca.pem -o /dev/null -w '%{redirect_url}\n' "$(cat address)" >&3
wait "$login"
echo "[exit $?]"
exec 3>&-
sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(authorize\?).*/\1…/' asked
run session token api.example.com eve

title "a wrong text can be followed by the right one"
mkfifo again
: >asked
"$TOKENKEEP" session login api.example.com eve --provider example --flow paste <again 2>>asked &
login=$!
exec 3>again
tail -n +1 -f asked --pid="$login" | grep -m 1 -o 'https://.*' >address
echo code-1 >&3
tail -n +1 -f asked --pid="$login" | grep -q -m 1 'a code alone'
curl -s --cacert served/ca.pem -o /dev/null -w '%{redirect_url}\n' "$(cat address)" >&3
wait "$login"
echo "[exit $?]"
exec 3>&-
sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(authorize\?).*/\1…/' asked

title "tokens that name no account are revoked"
put anonymous "${own}scope = openid\n"
grep -c 'POST /revoke' served/requests
login other.example.com --provider anonymous --flow browser
grep -c 'POST /revoke' served/requests

title "the port, and the parameters of the address"
free=$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import listening; print(*listening.free_ports(1))' "$HERE/../Support")
: >asked
"$TOKENKEEP" session login api.example.com eve --provider example --flow browser --no-open --port "$free" --scope "read write" \
    --resource https://files.example.com --audience api >>asked 2>&1 &
login=$!
tail -n +1 -f asked --pid="$login" | grep -q -m 1 'code_challenge='
kill "$login"
wait "$login" 2>/dev/null
grep -o '[?&][a-z_]*=[^&]*' asked | sed -E "s/(state|code_challenge)=.*/\1=…/; s/3A$free/3APORT/" | sort

title "a code alone is refused"
echo code-1 | login api.example.com eve --provider example --flow paste

title "wrong usage"
login api.example.com ann --provider nameless
# Not the installed ones: the program may not be installed.
login api.example.com ann --provider nobody | sed -E 's/\b(auth0|github|gitlab|google|keycloak|microsoft|okta), //g'
login api.example.com --provider example
login api.example.com ann --provider example --flow telepathy
login api.example.com ann

title "a browser that fails, the portal, then xdg-open"
mkdir bin
printf '#!/bin/sh\necho browser >>%s/opened\nexit 1\n' "$WORK" >bin/broken
cat >bin/gdbus <<SCRIPT
#!/bin/sh
echo portal >>"$WORK/opened"
[ -e "$WORK/has-portal" ] || exit 1
for word; do case \$word in http:*/start) exec "$WORK/browse" "\$word" ;; esac; done
SCRIPT
printf '#!/bin/sh\necho xdg-open >>%s/opened\nexec %s/browse "$1"\n' "$WORK" "$WORK" >bin/xdg-open
chmod 700 bin/*
export BROWSER="$WORK/bin/broken" PATH="$WORK/bin:$PATH"
login api.example.com zoe --provider example --flow browser
cat opened
: >has-portal
: >opened
login api.example.com zoe --provider example --flow browser
cat opened
kill "$server"

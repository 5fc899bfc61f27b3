# needs: root openssl
# The proxies of the environment: those of the caller, unless the program has more rights than the caller (AT_SECURE).
serve
start_server proxy proxy.py
relay=$started
https="https://127.0.0.1:$(port https)"
http="http://127.0.0.1:$(port http)"
proxy="http://127.0.0.1:$(cat proxy)"
export XDG_CACHE_HOME=/dev/null/none # nothing is kept
# The requests that the proxy and the server got.
count() {
    echo "proxied $(grep -c . served/proxied), arrived $(grep -c . served/requests)"
    : >served/proxied
    : >served/requests
}
# ENVIRONMENT...: asks the server at $address once, by the command $program.
ask() {
    env "$@" "${program[@]}" provider discover "$address" --ca-file "$WORK/served/ca.pem" >told 2>&1
    echo "${*%%=*} [exit $?] $(count)"
}
names="https_proxy HTTPS_PROXY all_proxy ALL_PROXY"

title "each name of the environment"
program=("$TOKENKEEP") address=$https
ask
for name in $names; do ask "$name=$proxy"; done
ask "http_proxy=$proxy"
ask "https_proxy=$proxy" no_proxy=127.0.0.1
ask "https_proxy=$proxy" NO_PROXY=127.0.0.1

title "a request to this machine without TLS goes there"
address=$http
ask "http_proxy=$proxy" "all_proxy=$proxy"

title "a program with more rights than its caller asks the server itself"
cp "$TOKENKEEP" privileged
chown nobody privileged
chmod 4755 privileged
program=("$WORK/privileged") address=$https
for name in $names; do ask "$name=$proxy"; done
ask "SSLKEYLOGFILE=$WORK/tmp/keys"
cat told

title "the same program and user without more rights asks the proxy"
chmod 755 privileged
program=(setpriv --reuid=nobody --clear-groups "$WORK/privileged")
for name in $names; do ask "$name=$proxy"; done

title "a refresh through the proxy; one that the proxy refuses leaves the token unspent"
printf 'token_endpoint = %s/token\nca_file = %s\nclient_id = app\n' "$https" "$WORK/served/ca.pem" \
    >config/tokenkeep/providers.d/example.conf
printf '{"access_token":"access-1","expires_in":3600,"refresh_token":"refresh-1"}' |
    run session begin api.example.com ann --provider example
export https_proxy=$proxy
: >served/refuses
run session refresh api.example.com 2>&1 | sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g'
sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/' served/proxied
count
run session show api.example.com --json | grep -E '"(refreshing|state)"'
rm served/refuses
run session refresh api.example.com
sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/' served/proxied
cat served/requests
kill "$server" "$relay"
wait "$server" "$relay" 2>/dev/null
true

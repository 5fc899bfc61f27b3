# needs: root
# slowness: 20
# A keeper that could not renew a session does so when the network is back, or the vault is unlocked: long before its next look,
# which this clock puts behind the end of the scenario.
cat >server <<'SCRIPT'
#!/bin/sh
[ -e network ]
is_down=$?
echo "$TOKENKEEP_ACCOUNT" >>tries
[ "$is_down" = 0 ] || exit 1
cat >/dev/null
printf '{"access_token":"access-2","expires_in":3600,"refresh_token":"refresh-2"}'
SCRIPT
chmod +x server
: >tries
sign_in() {
    printf '{"access_token":"access-1","expires_in":%s,"refresh_token":"refresh-1"}' "$2" |
        "$TOKENKEEP" session begin api.example.com "$1" --rotation none
}
# Waits for lines of a file. The scenario's time limit ends the wait.
lines() { tail -n +1 -f "$1" --pid="$keeper" | head -n "$2"; }
keep() {
    env --default-signal=TERM "$TOKENKEEP" session keep --exec ./server "$@" 2>keep.err &
    keeper=$!
}
end() {
    kill "$keeper"
    wait "$keeper" 2>/dev/null
    cat keep.err
}

title "the network is back"
sign_in ann 0
cat >with_network.sh <<'SCENARIO'
ip link set lo up
keep
lines tries 3
touch network
ip address add 192.0.2.1/32 dev lo
lines tries 4 | tail -n 1
end
SCENARIO
export -f lines keep end
unshare -n bash -u -c '. "$HERE/lib.sh"; . ./with_network.sh'
run session token api.example.com ann

title "the vault is unlocked"
"$TOKENKEEP" password set --stdin <<<one 2>/dev/null
: >tries
sign_in bob 0
"$TOKENKEEP" lock
keep --explain
# The keeper has looked at the places once: it says so.
lines keep.err 1
cat tries
"$TOKENKEEP" unlock --stdin <<<one
lines tries 1
until [ "$("$TOKENKEEP" session token api.example.com bob 2>/dev/null)" = access-2 ]; do :; done
kill "$keeper"
wait "$keeper" 2>/dev/null || :

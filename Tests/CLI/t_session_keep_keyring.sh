# needs: keyring
# slowness: 20
# A keeper renews sessions whose records lie in a keyring when another program unlocks it. gnome-keyring says nothing of an
# unlock by its PAM module. The next look at a session is 3 minutes later, which this clock puts behind the scenario's end.
cat >scenario.sh <<'SCENARIO'
cat >server <<'SCRIPT'
#!/bin/sh
cat >/dev/null
printf '{"access_token":"access-2","expires_in":3600,"refresh_token":"refresh-2"}'
SCRIPT
chmod +x server
mkdir -p config/tokenkeep/stack.d
echo "any required secret-service" >config/tokenkeep/stack.d/default.conf
for account in ann bob; do
    printf '{"access_token":"access-1","expires_in":0,"refresh_token":"refresh-1"}' |
        "$TOKENKEEP" session begin api.example.com "$account" --rotation none
done
gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets \
    -m org.freedesktop.Secret.Service.Lock "['/org/freedesktop/secrets/collection/login']" >lock.log 2>&1 || cat lock.log
: >keep.err
env --default-signal=TERM "$TOKENKEEP" session keep --exec ./server --explain 2>keep.err &
keeper=$!

title "the record is locked"
tail -n +1 -f keep.err --pid="$keeper" | grep -o -m 2 "nothing was renewed: .*" | sort
"$TOKENKEEP" session token api.example.com ann
echo "[exit $?]"

title "another program unlocks the keyring"
python3 "$HERE/unlock_keyring.py" "password of the keyring"
test-clock advance 20
for account in ann bob; do
    until [ "$("$TOKENKEEP" session token api.example.com "$account" 2>/dev/null)" = access-2 ]; do :; done
    echo renewed
done
kill "$keeper"
wait "$keeper" 2>/dev/null || :
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"

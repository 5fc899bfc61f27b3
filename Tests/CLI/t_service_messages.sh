# needs: keyring
# Errors that a Secret Service provokes which misbehaves: the one of the Swift tests, on a bus of its own.
mkdir -p config/tokenkeep/stack.d
echo "any required secret-service" >config/tokenkeep/stack.d/default.conf
cat >bus.conf <<CONF
<busconfig><type>session</type><limit name="max_replies_per_connection">50000</limit><listen>unix:path=$WORK/bus</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
CONF
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
export DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus
# behaves JSON COMMAND...: the command, while the service behaves so.
behaves() {
    : >ready # before the service has it
    /usr/bin/python3 "$HERE/../TokenKeepSecretService/Fakes/secret_service.py" "$1" >ready 2>/dev/null &
    local service=$!
    tail -n +1 -f ready --pid="$service" | head -n 1 >/dev/null
    shift
    "$@"
    kill "$service" 2>/dev/null
    wait "$service" 2>/dev/null
}
path=/org/freedesktop/secrets/collection/c/1
# item ATTRIBUTES SECRET: one of TokenKeep's, with more attributes.
item() { printf '"%s": {"attributes": {"xdg:schema": "org.tokenkeep.Item", "service": "example.com", "username": "ann", "tokenkeep:namespace": "", "tokenkeep:access": "after-first-unlock"%s}, "label": "x", "secret": "%s", "modified": 1, "locked": false}' "${3-$path}" "$1" "$2"; }
token="\"items\": {$(item '' token)}"
load() { run load example.com ann "$@"; }
save() { printf new | run save example.com "$@"; }
override() { printf '{%s, "override": {"%s": {%s}}}' "$token" "$1" "$2"; }
reply() { override "$1" "\"do\": \"reply\", \"signature\": \"$2\", \"values\": $3"; }

# From then on the service counts as used: its absence is an outage.
behaves "{$token}" load

title "searches"
behaves "$(override SearchItems '"do": "exit"')" load
behaves "$(override SearchItems '"do": "error", "name": "org.freedesktop.DBus.Error.NoReply"')" load
behaves "$(reply SearchItems s '["x"]')" load
behaves "$(reply SearchItems aoao '[["/"], []]')" load
behaves "$(reply SearchItems aoao "[[$(printf '"/i%d",' $(seq 1000))\"/i\"], []]")" load

title "sessions"
behaves "$(override OpenSession '"do": "error", "name": "org.example.No"')" load

title "secrets"
session=/org/freedesktop/secrets/session/s1
behaves "$(reply GetSecrets 'a{o(oayays)}' "[{\"$path\": [\"/another/session\", [], [65], \"text/plain\"]}]")" load
behaves "$(reply GetSecrets 'a{o(oayays)}' "[{\"$path\": [\"$session\", [1], [65], \"text/plain\"]}]")" load
behaves "$(override GetSecrets '"do": "large", "count": 8000000')" load
behaves "$(override GetSecrets '"do": "large", "count": 1048577')" load
behaves "{\"items\": {$(item '' '')}}" load
behaves "{\"items\": {$(item ', "tokenkeep:encoding": "rot13"' token)}}" load
behaves "{\"items\": {$(item ', "tokenkeep:encoding": "base64"' 'tokenkeep-base64:not base64!')}}" load


title "attributes"
behaves "{\"items\": {$(item ', "tokenkeep:expires": "soon"' token)}}" load
behaves "{\"items\": {$(item '' token | sed "s/\"ann\"/\"$(printf '%0300d' 0)\"/")}}" run list

title "new items, and locked ones"
behaves "$(reply CreateItem oo '["/", "/"]')" save bob --if-absent
behaves '{"default": false}' save bob --if-absent
locked=${token/false/true}
behaves "{$locked}" load
behaves "{$locked, \"prompt\": \"dismiss\"}" load --interactive
behaves "{$locked, \"override\": {\"Prompt\": {\"do\": \"exit\"}}}" load --interactive

title "silence"
mkdir -m 700 run && export XDG_RUNTIME_DIR=$WORK/run # where one program notes for another that the service is silent
twice() { load --timeout 2s; load; }
behaves '{"override": {"SearchItems": {"do": "hang"}, "Get": {"do": "hang"}}}' twice

title "no service, and one that does not start"
load
end_bus
mkdir services && printf '[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/false\n' >services/org.freedesktop.secrets.service
sed -i "s|<listen>.*</listen>|<listen>unix:path=$WORK/other</listen><servicedir>$WORK/services</servicedir>|" bus.conf
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
export DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/other
load

title "a service that asks before it deletes"
clear_and_sync() { run clear example.com ann; run sync; }
behaves "{\"deletePrompts\": true, $token}" clear_and_sync
end_bus

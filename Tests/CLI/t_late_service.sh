# needs: keyring
# A Secret Service that answers late, and one that hangs, while a change is pending for it and another program has a newer value.
# The service sets the tests' clock forward by the time that its answers take.
mkdir -p config/tokenkeep/stack.d
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
cat >bus.conf <<CONF
<busconfig><type>session</type><listen>unix:path=$WORK/bus</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
CONF
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
export DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus
mkdir -m 700 run && export XDG_RUNTIME_DIR=$WORK/run
# behaves JSON COMMAND...: the command, while the service behaves so.
behaves() {
    : >ready # before the service has it
    /usr/bin/python3 "$HERE/../TokenKeepSecretService/Fakes/secret_service.py" "$1" >ready 2>/dev/null &
    service=$!
    tail -n +1 -f ready --pid="$service" | head -n 1 >/dev/null
    shift
    "$@"
    kill "$service" 2>/dev/null
    wait "$service" 2>/dev/null
}
# theirs LATENCY [SECRET [MORE]]: the item as another program changes it a moment after the change that is pending.
theirs() {
    printf '{%s"latency": %s, "items": {"/org/freedesktop/secrets/collection/c/1": {"attributes": {"xdg:schema": "org.tokenkeep.Item", "service": "example.com", "username": "ann", "tokenkeep:namespace": "", "tokenkeep:access": "after-first-unlock"}, "label": "example.com (ann)", "secret": "%s", "modified": %s}}}' \
        "${3-}" "$1" "${2-theirs}" $(($(date +%s) + 2))
}
save() { printf %s "$2" | "$TOKENKEEP" save example.com "$1"; }
# keep NAME COMMAND...: a vault with the change that the service misses.
keep() {
    local name=$1
    shift
    cp -a known vault
    "$@" >/dev/null 2>&1
    mv vault "$name"
}
# with NAME JSON COMMAND...: the command with a copy of this vault, while the service behaves so.
with() {
    rm -rf vault
    cp -a "$1" vault
    shift
    behaves "$@"
}
load() { run load example.com ann; }
over() { printf new | run save example.com ann --if-version "$version"; }
clear() { run clear example.com ann --if-version "$version"; }
token() { run session token example.com ann; }
begin() { printf '{"access_token":"%s","expires_in":3600}' "$1" | "$TOKENKEEP" session begin example.com ann; }

behaves '{}' begin old
mv vault known
keep session begin ours
behaves '{}' save ann old
mv vault known
keep pending save ann ours
keep removal "$TOKENKEEP" clear example.com ann
keep service-removal "$TOKENKEEP" clear example.com --all
cp -a pending vault
version=$(version_of example.com ann)

title "a load, while each answer takes so many milliseconds"
for latency in 0 100 300 1000; do with pending "$(theirs $latency)" load; done
title "a load while a removal is pending"
for latency in 0 100 300 1000; do with removal "$(theirs $latency)" load; done
title "a load while the removal of the service is pending"
for latency in 0 100 300 1000; do with service-removal "$(theirs $latency)" load; done
title "a save and a clear over the version that is no longer the item's, and a load"
for call in over clear; do
    for latency in 0 100 300 1000; do
        with pending "$(theirs $latency)" "$call" | sed -E 's/[0-9]{6,}/VERSION/g'
        behaves "$(theirs $latency)" load
    done
done
title "a session's token"
for latency in 0 100 300 1000; do
    with session "$(theirs $latency '{\"accessToken\":\"theirs\",\"expiresAt\":9999999999}')" token
done

title "3 s: a service that misses the time of a call counts as hung; the call ends in time"
told() { case $("$TOKENKEEP" load example.com ann) in theirs | ours) echo "the newer value or the record's" ;; *) echo neither ;; esac; }
with pending "$(theirs 3000)" told

title "a hung service costs ten programs one timeout; then the newer value is loaded"
hung() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do run load example.com ann --explain; done | grep 'secret-service: ' | uniq -c | sed 's/^ *//'
    /usr/bin/gdbus call --session -d org.freedesktop.secrets -o /fake -m org.tokenkeep.Fake.Configure '{"hangs": false, "latency": 0}' >tmp/out
    load
    ls run/tokenkeep
}
with pending "$(theirs 5000 theirs '"hangs": true, ')" hung
kill "$(cat bus.pid)"

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
# The calls, each on one line: what it prints, its code, and its first message.
answer() {
    local code
    "$TOKENKEEP" "$@" >tmp/out 2>tmp/err
    code=$?
    echo "$(cat tmp/out) [exit $code]$(sed -nE '1s/^tokenkeep: /: /p' tmp/err)"
}
load() { answer load example.com ann "$@"; }
over() { printf new | answer save example.com ann --if-version "$version" "$@"; }
clear() { answer clear example.com ann --if-version "$version" "$@"; }
token() { answer session token example.com ann "$@"; }
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

# each FUNCTION: for each call, with the vault that it finds and the secret that another program saves meanwhile.
each() {
    "$1" "a load, while a save is pending" pending theirs load
    "$1" "a load, while a removal is pending" removal theirs load
    "$1" "a load, while the removal of the service is pending" service-removal theirs load
    "$1" "a save over a version that is no longer the item's" pending theirs over
    "$1" "a clear of a version that is no longer the item's" pending theirs clear
    "$1" "a session's token" session '{\"accessToken\":\"theirs\",\"expiresAt\":9999999999}' token
}
# The call's answers, each from a fresh process, while each answer of the service takes so long.
row() {
    local latency
    title "$1, while each answer takes so many milliseconds"
    for latency in 0 100 300 1000; do
        printf '%4s ms: ' "$latency"
        with "$2" "$(theirs "$latency" "$3")" "$4"
    done
    # Two answers of 3 s are later than the module's 5 s: then a call with a condition ends without a change, and the record
    # answers a load, as if the service were not there. With time for both, the newer value counts.
    printf '3000 ms: '
    with "$2" "$(theirs 3000 "$3")" "$4"
    printf 'any sufficient secret-service timeout=60s\nany required vault\n' >config/tokenkeep/stack.d/default.conf
    printf '3000 ms, and 60 s for the module and the call: '
    with "$2" "$(theirs 3000 "$3")" "$4" --timeout 60s
    printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
}
# The service is stopped until it has the call's first message, and for a second then: longer than a probe lasts.
stopped() {
    printf '%s: ' "$1"
    with "$2" "$(theirs 0 "$3")" stop_and_go "$4"
}
stop_and_go() {
    local monitor call
    : >seen
    stdbuf -oL dbus-monitor --profile "type='method_call'" >seen 2>/dev/null &
    monitor=$!
    # The bus takes away a monitor's name, and from then on shows it all messages.
    tail -n +1 -f seen --pid="$monitor" | grep -m 1 -q 'NameLost$'
    stop_process "$service"
    "$1" &
    call=$!
    tail -n +1 -f seen --pid="$monitor" | grep -m 1 -q '/org/freedesktop/secrets'
    test-clock advance 1
    # Meanwhile a call whose time was over would end: it looks at the clock a hundred times a second.
    for _ in {1..20}; do test-clock now; done >/dev/null
    kill -CONT "$service"
    wait "$call"
    kill "$monitor"
    wait "$monitor" 2>/dev/null
}
each row
title "the service is stopped, and goes on when it has the call's first message"
each stopped

title "a hung service costs ten programs one timeout; then the newer value is loaded"
hung() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do run load example.com ann --explain; done | grep 'secret-service: ' | uniq -c | sed 's/^ *//'
    /usr/bin/gdbus call --session -d org.freedesktop.secrets -o /fake -m org.tokenkeep.Fake.Configure '{"hangs": false, "latency": 0}' >tmp/out
    load
    ls run/tokenkeep
}
with pending "$(theirs 5000 theirs '"hangs": true, ')" hung
end_bus

# needs: root mount
# Clocks that jump: the wall clock by faketime, the boot clock by a time namespace, a restart by another boot id.
cat >server <<'SCRIPT'
#!/bin/sh
token=$(cat)
echo "${TOKENKEEP_PURPOSE} $token" >>requests
number=$(cat number)
if [ "$token" != "refresh-$number" ]; then echo '{"error":"invalid_grant"}'; exit; fi
number=$((number + 1)); echo "$number" >number
# Changes of the clocks while the server is asked.
[ ! -e meanwhile ] || sh ./meanwhile
printf '{"access_token":"access-%s","expires_in":3600,"refresh_token":"refresh-%s"}' "$number" "$number"
SCRIPT
chmod +x server
python3 -c 'import uuid; print(uuid.uuid4())' >boot_id
# The clocks of one call; the others are as they are.
wall() { local by=$1; shift; env LD_PRELOAD="$faketime" FAKETIME="$by" FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 "$@"; }
boot() { local by=$1; shift; unshare -T --boottime "$by" "$@"; }
restarted() { unshare -m sh -c 'mount --bind "$PWD/boot_id" /proc/sys/kernel/random/boot_id && exec "$@"' - "$@"; }
faketime=$(faketime -f +0 sh -c 'echo "$LD_PRELOAD"')

# Six calls: as the clocks are, twice with the clocks of the arguments, twice as they were, once refused by the server.
# Strict rotation: whoever sends a used token is signed out.
sign_in() {
    : >requests; echo 1 >number
    printf '{"access_token":"access-1","expires_in":%s,"refresh_token":"refresh-1"}' "$1" |
        "$TOKENKEEP" session begin api.example.com ann
}
calls() {
    title "$1"
    shift
    sign_in 3600
    "$TOKENKEEP" session token api.example.com --exec ./server
    for _ in 1 2; do "$@" "$TOKENKEEP" session token api.example.com --exec ./server; done
    for _ in 1 2; do "$TOKENKEEP" session token api.example.com --exec ./server; done
    echo "requests: $(wc -l <requests)"
    "$TOKENKEEP" session show api.example.com | grep -i state
}

calls "an hour back" wall -3600s
calls "ten years back" wall -315532800s
calls "an hour ahead" wall +3600s
calls "ten years ahead" wall +315532800s
calls "twenty years ahead are not believed" wall +631065600s
calls "a suspension of two hours" boot 7200
calls "a suspension of ten years" boot 315532800
calls "a restart" restarted
calls "a restart with the clock an hour back" restarted env LD_PRELOAD="$faketime" FAKETIME=-3600s FAKETIME_DONT_FAKE_MONOTONIC=1
calls "a restart with the clock two hours ahead" restarted env LD_PRELOAD="$faketime" FAKETIME=+7200s FAKETIME_DONT_FAKE_MONOTONIC=1

title "a token is not used after its end, whichever clock is behind"
sign_in 60
boot 61 "$TOKENKEEP" session token api.example.com
wall -3600s unshare -T --boottime 61 "$TOKENKEEP" session token api.example.com
wall +61s "$TOKENKEEP" session token api.example.com
restarted env LD_PRELOAD="$faketime" FAKETIME=+61s "$TOKENKEEP" session token api.example.com

title "the clock jumps while the server is asked: a file tells the clock"
for by in +3600 -3600 +315532800 -315532800; do
    sign_in 0
    echo +0 >clock
    echo "echo $by >clock" >meanwhile
    env LD_PRELOAD="$faketime" FAKETIME_TIMESTAMP_FILE="$PWD/clock" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
        "$TOKENKEEP" session token api.example.com --exec ./server
    rm meanwhile
    for _ in 1 2; do
        env LD_PRELOAD="$faketime" FAKETIME_TIMESTAMP_FILE="$PWD/clock" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
            "$TOKENKEEP" session token api.example.com --exec ./server
    done
    "$TOKENKEEP" session token api.example.com --exec ./server
    echo "requests: $(wc -l <requests)"
done

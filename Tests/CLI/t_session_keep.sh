# Sessions that are watched and kept fresh in the background.
cat >server <<'SCRIPT'
#!/bin/sh
token=$(cat)
[ "$TOKENKEEP_PURPOSE" = refresh ] || { echo "revoked $token" >>requests; exit; }
number=$((${token#refresh-} + 1))
echo "$TOKENKEEP_ACCOUNT $token" >>requests
[ "$TOKENKEEP_ACCOUNT" != slow ] || { echo >asked; read -r _ <answer; }
printf '{"access_token":"access-%s","expires_in":3600,"refresh_token":"refresh-%s"}' "$number" "$number"
SCRIPT
chmod +x server
: >requests
sign_in() {
    printf '{"access_token":"access-1","expires_in":%s,"refresh_token":"refresh-1"}' "$3" |
        "$TOKENKEEP" session begin "$1" "$2" --rotation none
}
# Waits until the file has so many lines, and shows those that are new. The scenario's time limit ends the wait.
shown=0
lines() {
    tail -n +$((shown + 1)) -f "$1" --pid="$background" | head -n $(($2 - shown)) | sed 's/\t/<TAB>/g'
    shown=$2
}
finish() {
    kill -s "$1" "$background"
    wait "$background" 2>/dev/null
    echo "[exit $?]"
}

title "a watch shows the present, and each change by any program"
sign_in api.example.com ann 3600
: >told
env --default-signal=INT "$TOKENKEEP" session watch >told 2>told.err &
background=$!
lines told 1
sign_in api.example.com bob 3600
lines told 2
"$TOKENKEEP" session switch api.example.com bob
lines told 4
"$TOKENKEEP" session logout api.example.com bob --local
lines told 5
finish INT
cat told.err
run session watch nothing.example.com extra

title "a keeper renews what ends soon, and revokes what waits"
sign_in api.example.com bob 3600
"$TOKENKEEP" session logout api.example.com bob 2>/dev/null
sign_in api.example.com due 0
env --default-signal=TERM "$TOKENKEEP" session keep --exec ./server 2>keep.err &
background=$!
shown=0
lines requests 2 | sort
# The server has answered; the keeper may be saving.
until [ "$("$TOKENKEEP" session token api.example.com due 2>/dev/null)" = access-2 ]; do :; done

title "what another program does while a server is asked is renewed too"
mkfifo asked answer
sign_in api.example.com slow 0
read -r _ <asked
sign_in web eve 0
echo >answer
lines requests 4 | sort
until [ "$("$TOKENKEEP" session token web eve 2>/dev/null)" = access-2 ]; do :; done

title "a second keeper names the first"
run session keep --exec ./server 2>&1 | sed "s/process $background /process PID /"
finish TERM
cat keep.err

title "the unit starts without the program, and runs it if it is there"
mkdir bin
printf '#!/bin/sh\necho "tokenkeep $*"\n' >bin/tokenkeep
chmod +x bin/tokenkeep
command=$(sed -n "s/^ExecStart=.*-c '\(.*\)' %E.*/\1/p" "$HERE/../../data/systemd/tokenkeep-keep.service")
PATH="$WORK/bin:$PATH" /bin/sh -c "$command" ./refresh
cp server refresh
PATH="$WORK/bin:$PATH" /bin/sh -c "$command" ./refresh

title "a keeper warns once of a session that is over"
printf '{"access_token":"a","expires_in":0}' | "$TOKENKEEP" session begin over ann
env --default-signal=TERM "$TOKENKEEP" session keep --exec ./server 2>keep.err &
background=$!
shown=0
lines keep.err 2
finish TERM

title "eight sessions are renewed at a time"
mkdir running
mkfifo gate
exec 9<>gate
cat >crowd <<'CROWD'
#!/bin/sh
cat >/dev/null
mkdir "running/$TOKENKEEP_ACCOUNT"
ls running | wc -l >>counts
read -r _ <gate
rmdir "running/$TOKENKEEP_ACCOUNT"
printf '{"access_token":"renewed","expires_in":3600,"refresh_token":"refresh-2"}'
CROWD
chmod +x crowd
: >counts
for number in $(seq 16); do sign_in crowd "$number" 0; done
env --default-signal=TERM "$TOKENKEEP" session keep crowd --exec ./crowd 2>keep.err &
background=$!
shown=0
lines counts 8 >/dev/null
# Each reads a line: then the others begin.
seq 16 >&9
lines counts 16 >/dev/null
sort -n counts | tail -n 1
finish TERM
cat keep.err

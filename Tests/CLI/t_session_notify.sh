# needs: bus
# A keeper notifies the desktop of a session that needs a sign-in. No desktop is there: a monitor of the bus shows the call.
cat >bus.conf <<CONF
<busconfig><type>session</type><listen>unix:path=$WORK/run/bus</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
CONF
# As in cron: the bus is in the user's runtime directory, and no variable names it.
mkdir -m 700 run && export XDG_RUNTIME_DIR=$WORK/run
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
: >seen
stdbuf -oL dbus-monitor --address "unix:path=$WORK/run/bus" >seen &
monitor=$!
tail -n +1 -f seen --pid="$monitor" | head -n 1 >/dev/null
mkdir -p bin config/tokenkeep/providers.d
ln -s "$TOKENKEEP" bin/tokenkeep
# A server that is not there: a sign-in that gets so far is no wrong usage.
printf 'issuer = http://127.0.0.1:9\nclient_id = me\n' >config/tokenkeep/providers.d/here.conf
chmod 600 config/tokenkeep/providers.d/here.conf
over='{"access_token":"a","expires_in":0}'
# The command of the notification about an account.
command_for() {
    local line
    line=$(tail -n +1 -f seen --pid="$monitor" | grep -m 1 "string \"$1: ")
    line=${line#*"$1: "}
    echo "${line%\"}"
}

title "the notification has the command that signs in again"
printf %s "$over" | "$TOKENKEEP" session begin api 'ann o'"'"'neil' --provider here
printf %s "$over" | "$TOKENKEEP" session begin web eve
env --default-signal=TERM "$TOKENKEEP" session keep 2>/dev/null &
keeper=$!
login=$(command_for "api (ann o'neil)")
begin=$(command_for "web (eve)")
kill "$keeper"
wait "$keeper" 2>/dev/null
echo "$login"
echo "$begin"
grep -c '"Sign in again"' seen

title "the commands work"
PATH="$WORK/bin:$PATH" sh -c "$login --timeout 20s" 2>&1 | sed -E "s/ after [0-9]+ ms//"
echo "[exit ${PIPESTATUS[0]}]"
printf '{"access_token":"b","expires_in":3600}' | PATH="$WORK/bin:$PATH" sh -c "$begin"
run session token web eve
kill "$monitor"
end_bus

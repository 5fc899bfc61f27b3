# The process that renews is frozen (SIGSTOP) when its request is about to be sent. Strict rotation; a revocation ends the family.
cat >server <<'SCRIPT'
#!/bin/sh
token=$(cat)
if [ "$TOKENKEEP_PURPOSE" = refresh ] && [ -e freezes ]; then
    rm freezes
    echo "$$" >asked
    cat gate >/dev/null
fi
echo "$TOKENKEEP_PURPOSE $token" >>requests
number=$(cat number)
if [ "$TOKENKEEP_PURPOSE" = revoke ]; then echo 0 >number; exit; fi
if [ "$token" != "refresh-$number" ]; then echo '{"error":"invalid_grant"}'; exit; fi
number=$((number + 1)); echo "$number" >number
printf '{"access_token":"access-%s","expires_in":3600,"refresh_token":"refresh-%s"}' "$number" "$number"
SCRIPT
chmod +x server
mkfifo asked gate

# A session whose renewal is under way, in a frozen process.
freeze() { # SECONDS
    : >requests; echo 1 >number; : >freezes
    printf '{"access_token":"access-1","expires_in":%s,"refresh_token":"refresh-1"}' "$1" |
        "$TOKENKEEP" session begin api.example.com ann
    "$TOKENKEEP" session refresh api.example.com --exec ./server >told 2>&1 &
    holder=$!
    asking=$(cat asked)
    stop_process "$holder"
}
thaw() {
    kill -CONT "$holder"
    echo go >gate
    wait "$holder"
    echo "[the frozen process: exit $?]"
    cat told requests
}
others() {
    "$TOKENKEEP" session token api.example.com --exec ./server >out 2>&1
    echo "[exit $?]"
    sed "s/process $holder/process HOLDER/" out
}
# Their limit is passed: it is shorter than the holder's, whose time goes on.
others_in_vain() {
    local waiting
    "$TOKENKEEP" session token api.example.com --exec ./server --timeout 5s >out 2>&1 &
    waiting=$!
    pass_limits "$waiting"
    wait "$waiting"
    echo "[exit $?]"
    sed "s/process $holder/process HOLDER/" out
}

title "others get the present token while it is valid"
freeze 3600
others
thaw
others

title "others learn who renews, once it is over; then all have the new token"
freeze 0
others_in_vain
thaw
others

title "a logout ends the session at once, and the frozen process does not bring it back"
freeze 3600
run session logout api.example.com --exec ./server
others
thaw
others
run session list

title "a sign-in meanwhile stays"
freeze 3600
printf '{"access_token":"new","expires_in":3600,"refresh_token":"another"}' | run session begin api.example.com ann
thaw
others
run session flush --exec ./server
cat requests

title "it is killed with its command: the token, which never arrived, is sent once more"
freeze 0
{ # The shell reports the end of its job.
    kill -KILL "$holder"
    kill -KILL -- "-$(ps -o pgid= -p "$asking" | tr -d ' ')"
    wait "$holder"
} 2>/dev/null
others
others
cat requests

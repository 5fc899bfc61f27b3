# needs: openssl
# Sign-ins over ssh on a machine without a browser, on a terminal: the device code, the pasted address, and interruptions
# at each step.
. "$HERE/sign_in.sh"
# As sshd sets it; a display that is forwarded changes nothing.
export SSH_CONNECTION="192.0.2.1 50000 192.0.2.2 22" DISPLAY=localhost:10.0

title "a server with device codes"
login device
run session token api.example.com ann

title "a server without them: the address is pasted"
login paste 'expect:the whole line' "$visit"
run session token api.example.com ann

title "a browser on this machine may come back meanwhile"
login paste 'expect:the whole line' 'pipe:$CURL -L "$(grep -o -m 1 "https://.*authorize.*")"'

title "the time that is left is said each minute"
options="--timeout 63s"
login paste 'expect:one minute left' 'send:\x03'
options=

title "no browser can be started: the address is pasted in the same run"
export BROWSER=/bin/false
options="--flow browser"
login paste 'expect:open the address in a browser, anywhere' "$visit"
options=
run session token api.example.com ann

title "Ctrl-C while nothing was sent leaves the old session"
login device 'expect:type the code' 'send:\x03'
login paste 'expect:the whole line' 'send:\x03'
options="--flow browser --no-open"
login paste 'expect:the whole line' 'send:\x03'
options=
run session token api.example.com ann

title "kill -9 leaves the old session, also while the code is redeemed"
login device 'expect:type the code' signal:KILL
login paste 'expect:the whole line' signal:KILL
mkfifo served/gate
login slow 'expect:type the code' "$arrives" signal:KILL
: >served/gate
: >served/requests
options="--flow paste"
login slow 'expect:the whole line' "$visit" "$arrives" signal:KILL
: >served/gate
options=
run session token api.example.com ann

title "Ctrl-C while the code is redeemed waits for the answer: the new session stands"
: >served/requests
options="--flow paste"
login slow 'expect:the whole line' "$visit" "$arrives" 'send:\x03' 'pipe:: >served/gate'
run session token api.example.com ann
kill "$server"
wait "$server" 2>/dev/null
true

# needs: root openssl sshd
# Sign-ins through a real sshd on a machine without a browser: the device code, the pasted address, and connections that
# are lost.
. "$HERE/sign_in.sh"
export DISPLAY=localhost:10.0 # as if it were forwarded
start_server listening ssh_server.py
sshd=$started
# The program itself holds the pipe, whose reader ends after it, also if sshd is gone.
mkfifo ended
through="ssh -F served/ssh_config host exec 9>$WORK/ended;"
remote() { # PROVIDER [STEP...]
    cat ended &
    login "$@"
    wait $!
}

title "a server with device codes"
remote device
run session token api.example.com ann

title "a server without them: the address is pasted"
remote paste 'expect:the whole line' "$visit"
run session token api.example.com ann

title "Ctrl-C leaves the old session"
remote device 'expect:type the code' 'send:\x03'
remote paste 'expect:the whole line' 'send:\x03'
run session token api.example.com ann

title "a connection that is lost ends the sign-in, and leaves the old session"
remote device 'expect:type the code' signal:KILL
remote paste 'expect:the whole line' signal:KILL
run session token api.example.com ann

title "a connection that is lost while the code is redeemed: the answer is waited for, and the new session stands"
mkfifo served/gate
: >served/requests
cat ended &
options="--flow paste"
login slow 'expect:the whole line' "$visit" "$arrives" signal:KILL
: >served/gate
wait $!
run session token api.example.com ann
kill "$sshd" "$server"
wait "$sshd" "$server" 2>/dev/null
true

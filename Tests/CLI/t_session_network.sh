# needs: mount openssl
# The network's corners: a name server that does not answer, .netrc, and libcurl's other library.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_session_network.sh"'
fi
serve
https="https://127.0.0.1:$(port https)"
put() { printf "ca_file = $WORK/served/ca.pem\nclient_id = app\ntoken_endpoint = $2\n" >"config/tokenkeep/providers.d/$1.conf"; }
put example "$https/token"
put unnamed https://login.example.test/token
for account in ann:example bob:unnamed; do
    printf '{"access_token":"access-1","expires_in":3600,"refresh_token":"refresh-1"}' |
        run session begin api.example.com "${account%:*}" --provider "${account#*:}"
done

title "a name server that does not answer holds nobody beyond the time limit"
: >asked # before the name server has it
python3 -c '
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.9", 53))
print("ready", flush=True)
server.recv(512)
print("asked", flush=True)
while True:
    server.recv(512)' >>asked &
names=$!
tail -n +1 -f asked --pid="$names" | head -n 1
printf 'nameserver 127.0.0.9\noptions timeout:30 attempts:5\n' >resolv.conf
echo 'hosts: files dns' >nsswitch.conf
mount --bind resolv.conf /etc/resolv.conf
mount --bind nsswitch.conf /etc/nsswitch.conf
"$TOKENKEEP" session refresh api.example.com bob 2>&1 &
refresh=$!
tail -n +1 -f asked --pid="$refresh" | grep -q -m 1 asked
pass_limits "$refresh"
wait "$refresh"
echo "[exit $?]"
tail -n 1 asked
kill "$names"
run session show api.example.com bob --json | grep -E '"(refreshing|state)"'

title "a password of .netrc is not sent"
echo 'default login ann password secret' >"$HOME/.netrc"
run session refresh api.example.com ann
cat served/requests

title "libcurl-gnutls takes the place of libcurl"
for library in $(ldconfig -p | sed -n 's/.*libcurl\.so\.4 .*=> //p'); do mount --bind /dev/null "$library"; done
run session refresh api.example.com ann
strace -f -qq -e trace=openat -o trace "$TOKENKEEP" session refresh api.example.com ann >/dev/null 2>&1
grep -o 'libcurl[a-z-]*\.so\.4' trace | tail -n 1
kill "$server"
wait "$server" "$names" 2>/dev/null
true

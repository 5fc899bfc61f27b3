# needs: openssl
# A sign-in as the kernel sees it: codes, verifiers and tokens go to the server alone, and once.
serve
http="http://127.0.0.1:$(port http)"
printf "client_id = app\nauthorization_endpoint = $http/authorize\ntoken_endpoint = $http/token\n" \
    >config/tokenkeep/providers.d/example.conf
mkfifo paste
: >asked # before the program has it
strace -f -qq -yy -s 8192 -o trace -e trace=write,writev,pwrite64,pwritev,sendto,sendmsg,execve,memfd_create \
    "$TOKENKEEP" session login api.example.com ann --provider example --flow paste <paste 2>>asked &
login=$!
exec 3>paste
tail -n +1 -f asked --pid="$login" | grep -m 1 -o 'http://.*' >address
curl -s -o /dev/null -w '%{redirect_url}\n' "$(cat address)" >&3
wait "$login"
echo "[exit $?]"
exec 3>&-
value() { grep -o "$1=[^& ]*" served/requests | head -n 1 | cut -d= -f2; }
code=$(grep -o '&code=[^& ]*' served/requests | cut -d= -f2)
verifier=$(value code_verifier)
echo "code ${#code}, verifier ${#verifier}"

title "to the server, each once"
for secret in "$code" "$verifier"; do grep -F -e "$secret" trace | grep -c 'TCP:\['; done

title "to nothing else; no other program is started"
for secret in "$code" "$verifier" access-2 refresh-2; do grep -F -e "$secret" trace | grep -vc 'TCP:\['; done
grep -c execve trace
grep -rlF -e "$code" -e "$verifier" -e access-2 -e refresh-2 vault config home tmp asked
kill "$server"

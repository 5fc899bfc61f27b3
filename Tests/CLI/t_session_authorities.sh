# needs: mount openssl
# The authorities that sign a server's certificate: the provider's ca_file takes the place of the system's.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_session_authorities.sh"'
fi
mkdir -p system
serve
https="https://127.0.0.1:$(port https)"
# The system trusts the server's authority, and no other.
cp served/ca.pem system/ca-certificates.crt
cp served/ca.pem "system/$(openssl x509 -in served/ca.pem -noout -hash).0"
mount --bind system /etc/ssl/certs
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout other.key -out other.pem -days 2 \
    -subj /CN=other 2>/dev/null
own="client_id = app\ntoken_endpoint = $https/token\ndevice_authorization_endpoint = $https/device\n"
printf "$own" >config/tokenkeep/providers.d/system.conf
printf "${own}ca_file = $WORK/other.pem\n" >config/tokenkeep/providers.d/other.conf
printf "${own}ca_file = $WORK/served/ca.pem\n" >config/tokenkeep/providers.d/own.conf
login() { # like run; the words about the certificate are libcurl's
    run session login "$@" --flow device 2>&1 | sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(SERVER: ).*certificate.*/\1CERTIFICATE/'
}

title "the system's authorities"
login api.example.com ann --provider system

title "others than the server's"
login api.example.com bob --provider other
grep -c . served/requests

title "those that the environment names, in place of the system's; the provider's come first"
SSL_CERT_FILE="$WORK/other.pem" login api.example.com bob --provider system
SSL_CERT_FILE="$WORK/other.pem" login api.example.com bob --provider own

title "the server's own"
login api.example.com eve --provider own
kill "$server"

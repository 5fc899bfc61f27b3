#!/bin/bash
# Runs the program LOGIN beside the tests' own server, with provider files that name its endpoints.
#
# Usage: login.sh LOGIN
set -u
. "$(dirname "$0")/served.sh"
cat >"$providers/example.conf" <<END
client_id = app
authorization_endpoint = $address/authorize
token_endpoint = $address/token
device_authorization_endpoint = $address/device
revocation_endpoint = $address/revoke
END
https=${address%:*}:$(sed -E 's/.*\bhttps=([0-9]+).*/\1/' "$work/ports")
https=https${https#http}
cat >"$providers/bob.conf" <<END
ca_file = $work/served/ca.pem
client_id = app
scope = openid email
authorization_endpoint = $https/authorize
token_endpoint = $https/token-as/u2/bob@example.com
revocation_endpoint = $https/revoke
END
echo "client_id = app" >"$providers/empty.conf"
echo "token_endpoint = $address/token" >"$providers/nameless.conf"
printf '#!/bin/sh\nexec curl -sL --cacert %s/served/ca.pem -o /dev/null "$1"\n' "$work" >"$work/browse"
chmod 700 "$work/browse"
BROWSER="$work/browse" "$1"

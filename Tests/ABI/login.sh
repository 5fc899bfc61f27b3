#!/bin/bash
# Runs the program LOGIN beside the tests' own server, with provider files that name its endpoints.
#
# Usage: login.sh LOGIN
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill "$server"; rm -rf "$work"' EXIT
mkdir -p "$work/config/tokenkeep/providers.d" "$work/served"
python3 "$here/../Servers/lying_server.py" "$work/served" >"$work/ports" &
server=$!
tail -n +1 -f "$work/ports" --pid="$server" | head -n 1 >/dev/null
address="http://127.0.0.1:$(sed -E 's/.*\bhttp=([0-9]+).*/\1/' "$work/ports")"
cat >"$work/config/tokenkeep/providers.d/example.conf" <<END
client_id = app
authorization_endpoint = $address/authorize
token_endpoint = $address/token
device_authorization_endpoint = $address/device
revocation_endpoint = $address/revoke
END
echo "client_id = app" >"$work/config/tokenkeep/providers.d/empty.conf"
echo "token_endpoint = $address/token" >"$work/config/tokenkeep/providers.d/nameless.conf"
printf '#!/bin/sh\nexec curl -sL -o /dev/null "$1"\n' >"$work/browse"
chmod 700 "$work/browse"
XDG_CONFIG_HOME="$work/config" BROWSER="$work/browse" REQUESTS="$work/served/requests" "$1"

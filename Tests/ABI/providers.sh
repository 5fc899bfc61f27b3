#!/bin/bash
# Runs the program PROVIDERS beside the tests' own server, with provider files that name its endpoints.
#
# Usage: providers.sh PROVIDERS
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill "$server"; rm -rf "$work"' EXIT
mkdir -p "$work/config/tokenkeep/providers.d" "$work/served"
python3 "$here/../Servers/lying_server.py" "$work/served" >"$work/ports" &
server=$!
tail -n +1 -f "$work/ports" --pid="$server" | head -n 1 >/dev/null
address="http://127.0.0.1:$(sed -E 's/.*\bhttp=([0-9]+).*/\1/' "$work/ports")"
cd "$work/config/tokenkeep/providers.d" || exit 2
echo "token_endpoint = $address/token" >example.conf
echo "validate_endpoint = $address/hangs" >silent.conf
echo "nonsense" >wrong.conf
XDG_CONFIG_HOME="$work/config" REQUESTS="$work/served/requests" "$1"

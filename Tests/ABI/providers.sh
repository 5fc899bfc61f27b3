#!/bin/bash
# Runs the program PROVIDERS beside the tests' own server, with provider files that name its endpoints.
#
# Usage: providers.sh PROVIDERS
set -u
. "$(dirname "$0")/served.sh"
echo "token_endpoint = $address/token" >"$providers/example.conf"
echo "validate_endpoint = $address/hangs" >"$providers/silent.conf"
echo "nonsense" >"$providers/wrong.conf"
"$1"

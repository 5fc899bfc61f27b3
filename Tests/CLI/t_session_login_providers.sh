# needs: mount openssl prefix
# The blocks of docs/signing-in.md, "Each provider in ten lines", line by line, at a server with the providers' names.
if [ -z "${INSIDE-}" ]; then
    exec env INSIDE=yes unshare -m -n bash -u -c '. "$HERE/lib.sh"; . "$HERE/t_session_login_providers.sh"'
fi
page="$HERE/../../docs/signing-in.md"
names="github.com api.github.com gitlab.com accounts.google.com oauth2.googleapis.com openidconnect.googleapis.com
login.microsoftonline.com graph.microsoft.com login.example.com api.example.com example.okta.com example.eu.auth0.com"
mkdir -p served system bin blocks home/.config/tokenkeep/stack.d
: >ready # before the server has it
# shellcheck disable=SC2086
python3 "$HERE/../Servers/provider_server.py" served $names >>ready &
server=$!
tail -n +1 -f ready --pid="$server" | head -n 1
for name in localhost $names; do echo "127.0.0.1 $name"; done >hosts
mount --bind hosts /etc/hosts
cp served/ca.pem system/ca-certificates.crt
cp served/ca.pem "system/$(openssl x509 -in served/ca.pem -noout -hash).0"
mount --bind system /etc/ssl/certs
cp config/tokenkeep/stack.d/default.conf home/.config/tokenkeep/stack.d
export XDG_CONFIG_HOME="$HOME/.config" XDG_CACHE_HOME="$HOME/.cache" BROWSER="$WORK/bin/browser" PATH="$WORK/bin:$PATH"
printf '#!/bin/sh\nexec "$TOKENKEEP" "$@"\n' >bin/tokenkeep
printf '#!/bin/sh\necho noise; echo noise >&2; exec curl -sL -o /dev/null "$1"\n' >bin/browser
chmod 755 bin/*

# Each block to a file of its own, in their order.
awk '/^## /{wanted = /Each provider in ten lines/} /^### /{number++; name = $2}
     /^```/{inside = /^```sh/; next} wanted && inside {print > sprintf("blocks/%02d-%s", number, name)}' "$page"
for block in blocks/*; do
    title "${block#*-}, $(grep -c . "$block") lines"
    printf client-secret | bash -euo pipefail "$block" 2>&1 |
        sed -E 's/(https:[^?]*\?).*/\1…/'
    echo "[exit ${PIPESTATUS[1]}]"
done

title "the servers got"
uniq served/requests
kill "$server"
wait "$server" 2>/dev/null
true

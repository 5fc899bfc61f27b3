# Errors of sign-ins and of providers that need no server.
mkdir -p config/tokenkeep/providers.d
put() { printf "$2" >"config/tokenkeep/providers.d/$1.conf"; }
begin() { printf '{"access_token":"a","expires_in":3600,"refresh_token":"r"}' | run session begin api ann --provider "$1"; }
put empty 'client_id = app\n'
put browser 'client_id = app\nauthorization_endpoint = https://login.example.com/a\ntoken_endpoint = http://127.0.0.1:1/t\n'
put secret 'client_id = app\ntoken_endpoint = http://127.0.0.1:1/t\nclient_secret = item login.example.com app\n'

title "endpoints that are missing"
run session login api ann --provider empty
run session login api ann --provider browser --flow device
run session login api ann --provider secret --flow paste

title "no session begins with a provider that no file describes"
begin browsr
run session show api ann
begin ../browser

title "a line that is too long"
head -c 20000 /dev/zero | tr '\0' x | "$TOKENKEEP" session login api ann --provider browser --flow paste 2>&1 | tail -n 3 | sed "s|https:.*|ADDRESS|"

title "the client's secret is missing"
begin secret
run session refresh api ann

title "a hook of a logout fails"
mkdir -p config/tokenkeep/logout.d
printf '#!/bin/sh\nexit 3\n' >config/tokenkeep/logout.d/fails && chmod 755 config/tokenkeep/logout.d/fails
run session logout api ann --local --explain

title "the end of the input on a terminal"
on_terminal 'expect:: ' 'send:\x04' -- "$TOKENKEEP" save example.com none

title "metadata that is none"
mkdir pages && cd pages && mkdir -p .well-known && echo "<html>" | tee .well-known/oauth-authorization-server >.well-known/openid-configuration
python3 - >../port <<'PYTHON' &
import http.server
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
server=$!
cd ..
until [ -s port ]; do :; done
run provider discover "http://127.0.0.1:$(cat port)" 2>&1 | sed 's/127\.0\.0\.1:[0-9]*/SERVER/g'
kill "$server" && wait "$server" 2>/dev/null
true

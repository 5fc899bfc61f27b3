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

title "a line that is too long"
head -c 20000 /dev/zero | tr '\0' x | "$TOKENKEEP" session login api ann --provider browser --flow paste 2>&1 | tail -n 1

title "the client's secret is missing"
begin secret
run session refresh api ann

title "a hook of a logout fails"
mkdir -p config/tokenkeep/logout.d
printf '#!/bin/sh\nexit 3\n' >config/tokenkeep/logout.d/fails && chmod 755 config/tokenkeep/logout.d/fails
run session logout api ann --local --explain

title "the end of the input on a terminal"
on_terminal 'expect:: ' 'send:\x04' -- "$TOKENKEEP" save example.com none

# needs: openssl
# Sign-ins of another person, of a browser in an old tab, with parameters and more scopes; and the sign-out of the browser.
export XDG_CACHE_HOME="$WORK/cache"
serve
https="https://127.0.0.1:$(port https)"
put() { # NAME PERSON [LINE...]
    local name=$1 person=$2
    shift 2
    printf '%s\n' "ca_file = $WORK/served/ca.pem" "client_id = app" "authorization_endpoint = $https/authorize" "revocation_endpoint = $https/revoke" \
        "token_endpoint = $https/$person" "$@" >"config/tokenkeep/providers.d/$name.conf"
}
put ann token-as/u1/ann@example.com 'scope = openid email'
put bob token-as/u2/bob@example.com 'scope = openid email'
put plain token 'parameter prompt = consent' 'parameter access_type = offline'
put named token "userinfo_endpoint = $https/user/u7/ann-login" 'account_claim = login'
printf '#!/bin/sh\necho "$1" >>%s/opened\nexec curl -sL --cacert %s/served/ca.pem -o page "$1"\n' "$WORK" "$WORK" >browse
chmod 700 browse
export BROWSER="$WORK/browse"
login() { # like run; addresses, states and ports differ from run to run
    run session login "$@" 2>&1 | sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(authorize[a-z-]*\?).*/\1…/' |
        grep -vE '^! (Sign in with|  http|If it cannot)'
}

list() { run session list "$1" | sed -E 's/[0-9]{4}-[0-9-]+T[0-9:]+Z/TIME/'; }

title "the browser's command has neither state nor challenge in its arguments"
login api.example.com ann@example.com --provider ann
sed -E 's/:[0-9]+/:PORT/' opened

title "the browser is signed in as somebody else"
sed -i "s|token-as/u1/ann@|token-as/u2/bob@|" config/tokenkeep/providers.d/ann.conf
login api.example.com ann@example.com --provider ann
run session token api.example.com ann@example.com
login other.example.com ann@example.com --provider bob
login other.example.com work --provider bob
login other.example.com ann@example.com --provider bob --any-account
list other.example.com

title "an answer of an earlier sign-in's tab is said"
cat >stale <<SCRIPT
#!/bin/sh
back=\$(curl -s --cacert $WORK/served/ca.pem -o /dev/null -w '%{redirect_url}' "\$(curl -s -o /dev/null -w '%{redirect_url}' "\$1")")
curl -s -o page "\${back%%\?*}?code=c&state=of-an-earlier-try"
curl -s -o /dev/null "\$back"
SCRIPT
chmod 700 stale
BROWSER="$WORK/stale" login stale.example.com ann --provider plain
grep -o '<h1>[^<]*' page

title "parameters of the file and of the sign-in"
: >served/requests
login api.example.com ann --provider plain --parameter login_hint=ann@example.com --parameter access_type=
grep -oE '[?&](prompt|access_type|login_hint)=[^& ]*' served/requests
login api.example.com ann --provider plain --parameter prompt
login api.example.com ann --provider plain --parameter state=x
run provider show plain --json | grep -E 'parameters|prompt|access_type'

title "the userinfo endpoint names the account"
login named.example.com --provider named

title "scopes are added to a session"
login scope.example.com ann --provider plain --scope "read"
: >served/requests
login scope.example.com --provider plain --add-scope "write read"
grep -o '&scope=[^& ]*' served/requests
login scope.example.com --provider plain --add-scope write --scope read
login scope.example.com zoe --provider plain --add-scope write
login scope.example.com ann --provider named --add-scope write

title "tokens as JSON, and the ID token"
run session token scope.example.com --json | sed -E 's/"[0-9]{4}-[^"]*Z"/"TIME"/'
run session token other.example.com work --id-token --json | sed -E 's/"[0-9]{4}-[^"]*Z"/"TIME"/; s/"eyJ[^"]*"/"JWT"/'
run session token other.example.com work --id-token | sed -E 's/^eyJ.*/JWT/'
run session token scope.example.com --id-token
run session token scope.example.com --header --json
run session token scope.example.com --id-token --scope read

title "the sign-out of the browser"
run session logout scope.example.com --browser
put bob token-as/u2/bob@example.com "end_session_endpoint = $https/end"
: >opened
: >served/requests
run session logout other.example.com work --browser 2>&1 | sed -E 's/:[0-9]+/:PORT/'
sed -E 's/:[0-9]+/:PORT/' opened
until grep -q 'GET /end' served/requests; do :; done
grep -oE 'GET /end\?client_id=app&id_token_hint=eyJ' served/requests
run session logout api.example.com --browser --local
printf '%s' '{"access_token":"a"}' | "$TOKENKEEP" session begin bare.example.com ann
run session logout bare.example.com --browser
login api.example.com ann@example.com --provider bob --any-account
printf '#!/bin/bash\nBROWSER=/bin/false PATH=%q exec %q "$@"\n' "$WORK" "$TOKENKEEP" >tmp/without-browser
chmod 755 tmp/without-browser
TOKENKEEP="$WORK/tmp/without-browser" run session logout api.example.com ann@example.com --browser 2>&1 | sed -E 's/:[0-9]+/:PORT/'
list api.example.com
kill "$server"

# needs: openssl prefix
# The files of providers, and discovery.
mkdir -p config/tokenkeep/providers.d
put() { printf "$2" >"config/tokenkeep/providers.d/$1.conf"; }
places() { sed -E "s|[^ \"]*/share/tokenkeep/providers.d|INSTALLED|g; s/127\.0\.0\.1:[0-9]+/SERVER/g"; }

title "the installed providers"
run provider list | places | tr -s " "
run provider show github | places

title "a file of one's own adds to the installed one of its name"
put github 'include = github\nclient_id = Iv1.0123\nscope = repo user\n'
run provider show github --json | places
run provider list --json | places | grep -A 6 '"client_id" : true'

title "a wrong line is named"
put wrong '# a comment\nclient_id = app\nclient_secret = s3cret\n'
run provider check config/tokenkeep/providers.d/wrong.conf
put wrong 'token_endpoint = http://example.com/token\n'
run provider check config/tokenkeep/providers.d/wrong.conf
put wrong 'colour = red\n'
run provider check config/tokenkeep/providers.d/wrong.conf
run provider list | grep wrong | places | tr -s " "
put wrong 'client_id = app\n'
run provider check config/tokenkeep/providers.d/wrong.conf
chmod g+w config/tokenkeep/providers.d/wrong.conf
run provider check config/tokenkeep/providers.d/wrong.conf
run provider show nobody
run provider check nothing.conf

title "a server is asked for its endpoints, once a day"
serve
export XDG_CACHE_HOME="$WORK/cache"
https="https://127.0.0.1:$(port https)"
discover() { run provider discover "$@" 2>&1 | places; }
discover "$https" --ca-file "$WORK/served/ca.pem"
discover "$https" --ca-file "$WORK/served/ca.pem" --json
cat served/requests
discover "$https/otherissuer" --ca-file "$WORK/served/ca.pem"
discover "$https/plain" --ca-file "$WORK/served/ca.pem"
discover "$https/none" --ca-file "$WORK/served/ca.pem"
discover "https://127.0.0.1:$(port selfsigned)" --ca-file "$WORK/served/ca.pem"
discover http://example.com
kill "$server"
wait "$server" 2>/dev/null
true

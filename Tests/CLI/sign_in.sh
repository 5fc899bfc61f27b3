# Shared by the scenarios of sign-ins on a terminal: the server with three providers, and the steps of a browser elsewhere.
export XDG_CACHE_HOME="$WORK/cache"
serve
https="https://127.0.0.1:$(port https)"
put() { printf "ca_file = $WORK/served/ca.pem\nclient_id = app\n$2" >"config/tokenkeep/providers.d/$1.conf"; }
put device "issuer = $https\n"
put paste "authorization_endpoint = $https/authorize\ntoken_endpoint = $https/token\n"
put slow "authorization_endpoint = $https/authorize\ntoken_endpoint = $https/waits\ndevice_authorization_endpoint = $https/device\n"
# Only the first address that the screen shows; a browser elsewhere opens it, and is sent to a port of this machine.
export CURL="curl -s --cacert $WORK/served/ca.pem -o /dev/null"
visit='pipe:$CURL -w "%{redirect_url}\n" "$(grep -o -m 1 "https://.*authorize.*")"'
# The server has the request that waits for the gate.
arrives='pipe:tail -n +1 -f served/requests | grep -q -m 1 /waits'
options= through=
login() { # PROVIDER [STEP...]
    local provider=$1
    shift
    echo "$ tokenkeep session login api.example.com ann --provider $provider${options:+ $options}"
    on_terminal "$@" -- $through "$TOKENKEEP" session login api.example.com ann --provider "$provider" $options |
        sed -E 's/127\.0\.0\.1:[0-9]+/SERVER/g; s/(authorize\?|callback\?).*/\1…/'
}

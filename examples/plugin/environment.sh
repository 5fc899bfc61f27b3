#!/bin/sh
# A module for reading: tokens that somebody put into the environment or into systemd's credentials.
#
#     # operation   control       module           arguments
#     load          sufficient    environment.sh   env=GITHUB_TOKEN github.com/ci=GITHUB_TOKEN
#     load          sufficient    environment.sh
#
# SERVICE/ACCOUNT=NAME, or SERVICE=NAME for the empty account, says where a token is (a / and a % within one of them are
# written %2F and %25): in the variable NAME, which env=
# must name too, else in the file NAME of $CREDENTIALS_DIRECTORY. Without such an argument the token of a service with
# the empty account is the file with the service's name. All of it is in the common namespace. With the argument
# env=CREDENTIALS_DIRECTORY the module sees the directory that systemd made for the service (LoadCredential=).
#
# Keep the line's operation at load: a module for reading refuses to save.
set -u

decoded() { printf %s "$1" | base64 -d; }

answer() {
    printf 'tokenkeep=1\nstatus=%s\n' "$1"
    [ $# -lt 2 ] || printf 'message=%s\n' "$(printf %s "$2" | base64 -w 0)"
}

# The lines of a secret: 60 000 characters of base64 each, of what is read.
secret() {
    printf 'secret+=\n' # an empty one has a line too
    base64 -w 60000 | sed 's/^/secret+=/'
}

operation='' namespace='' service='' account='' arguments=''
while IFS= read -r line && [ -n "$line" ]; do
    value=${line#*=}
    case $line in
    operation=*) operation=$value ;;
    namespace=*) namespace=$value ;;
    service=*) service=$(decoded "$value") ;;
    account=*) account=$(decoded "$value") ;;
    argument=*) arguments="$arguments $value" ;;
    esac
done

encoded() { printf %s "$1" | sed 's/%/%25/g; s,/,%2F,g'; }

# Where the token is: by the line's arguments, else by the service's name.
place() {
    wanted=$(encoded "$service")${account:+/$(encoded "$account")}
    for argument in $arguments; do
        argument=$(decoded "$argument")
        if [ "${argument%=*}" = "$wanted" ]; then
            printf %s "${argument##*=}"
            return
        fi
    done
    [ -n "$account" ] || printf %s "$service"
}

load() {
    name=$(place)
    # Only what an argument names is taken from the environment: HOME is no token.
    if [ -z "$namespace" ] && [ -n "$name" ] && [ "$name" != "$service" ]; then
        case $name in
        [0-9]* | *[!A-Za-z0-9_]*) ;;
        *)
            eval "value=\${$name-} is_set=\${$name+yes}"
            if [ -n "$is_set" ]; then
                answer ok
                printf %s "$value" | secret
                return
            fi
            ;;
        esac
    fi
    case $name in
    '' | .* | */*) ;;
    *)
        file=${CREDENTIALS_DIRECTORY-}/$name
        if [ -z "$namespace" ] && [ -n "${CREDENTIALS_DIRECTORY-}" ] && [ -f "$file" ]; then
            if [ -r "$file" ]; then
                answer ok
                secret <"$file"
            else
                answer denied "the credential cannot be read"
            fi
            return
        fi
        ;;
    esac
    answer not_found
}

case $operation in
load) load ;;
report)
    answer ok
    printf 'note=%s\n' "$(printf %s "the environment${CREDENTIALS_DIRECTORY:+ and $CREDENTIALS_DIRECTORY}" | base64 -w 0)"
    ;;
*) answer unsupported "the module is for reading" ;;
esac
echo

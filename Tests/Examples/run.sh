#!/bin/sh
# Builds the examples against an installed TokenKeep, in every way they say they can be built, runs them, and compares
# what they print. So with README.md's commands and program in C, its links as they are installed, and the demo. The examples in
# Swift are run as the debug build has them; packages.sh builds them as the packages that they are.
#
# Usage: run.sh PREFIX BUILT      (BUILT: where the debug build's programs are)
set -u
[ $# -eq 2 ] && [ -d "$1" ] && [ -d "$2" ] || { echo "usage: run.sh PREFIX BUILT" >&2; exit 2; }
[ -n "${TOKENKEEP_TEST_CLOCK:-}" ] || exec "$(dirname "$0")/../Support/Clock/run.sh" "$0" "$@"
prefix=$(cd "$1" && pwd)
built=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
libraries=$(dirname "$(find "$prefix" -name libtokenkeep.so -print -quit)")
export PKG_CONFIG_PATH="$libraries/pkgconfig"

# Runs the C examples that lie in a directory.
run_c() {
    prints "$1 save-load-clear" "$2/save-load-clear" <<'END'
loaded: an access token
cleared
END
    prints "$1 list" "$2/list" <<'END'
example.com (alice), client phone, in vault
example.com (bob), client laptop, in vault
cleared 2
END
    prints "$1 expiry" "$2/expiry" <<'END'
fresh: good
stale: expired, sign in again
END
    prints "$1 compare-and-swap" "$2/compare-and-swap" <<'END'
replaced the version that was read
not replaced: example.com (alice) changed since it was read; load it again and decide anew
END
    prints "$1 session" "$2/session" <<'END'
POST https://login.example.com/token
Authorization: Bearer second
END
    prints "$1 tour" "$2/tour" <<'END'
6 bytes, client laptop, the version is that of the save
ann, tour.example.com (ann)
0 drained, 0 still pending
the vault has no password
against other users: enforced
cleared: ann
the device's id has 36 characters
bob, active
files of bob are gone
files: done
the token says bob
END
}

if cmake -S "$examples/c" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
    >"$work/log" 2>&1 && cmake --build "$work/cmake" >>"$work/log" 2>&1; then
    run_c "CMake package:" "$work/cmake"
else
    fail "the examples do not build with the CMake package"
    cat "$work/log"
fi

mkdir "$work/pkg-config"
for source in "$examples"/c/*.c; do
    # shellcheck disable=SC2046
    ${CC:-cc} -Wall -Wextra -Werror "$source" $(pkg-config --cflags --libs tokenkeep) \
        -o "$work/pkg-config/$(basename "$source" .c)" || fail "$source does not build with pkg-config"
done
export LD_LIBRARY_PATH="$libraries" # the prefix is not one that the loader knows
run_c "pkg-config:" "$work/pkg-config"

# Items of another program, in a keyring of a session of its own.
cat >"$work/bus.conf" <<'END'
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
END
cat >"$work/desktop.sh" <<'END'
set -eu
exec 2>&1
printf password | gnome-keyring-daemon --unlock --components=secrets --foreground >/dev/null 2>&1 &
trap 'kill $!' EXIT
gdbus wait --session --timeout 300 org.freedesktop.secrets
"$1/load-from-another-program"
printf 'their token' | secret-tool store --label="Ann at example.com" service example.com username ann
"$1/load-from-another-program"
"$2/bin/tokenkeep" load example.com ann && echo
END
# What the bus itself says, of limits that it cannot raise, is not the example's.
on_a_desktop() {
    env HOME="$work/desktop" XDG_CONFIG_HOME="$work/desktop" XDG_DATA_HOME="$work/desktop" \
        XDG_RUNTIME_DIR="$work/desktop" TOKENKEEP_VAULT="$work/desktop/vault" \
        dbus-run-session --config-file="$work/bus.conf" -- sh "$work/desktop.sh" "$work/pkg-config" "$prefix" 2>/dev/null
}

# The login helper, with a refresh program of its own and no desktop that shows notifications.
mkdir "$work/programs"
cat >"$work/programs/notify-send" <<'END'
#!/bin/sh
shift; printf '%s\n' "$@"
END
cat >"$XDG_CONFIG_HOME/tokenkeep/refresh" <<'END'
#!/bin/sh
case "$TOKENKEEP_PURPOSE $TOKENKEEP_ACCOUNT $(cat)" in
"refresh ann r1") printf 'HTTP/1.1 200 OK\r\nDate: x\r\n\r\n{"access_token":"a2","refresh_token":"r2","expires_in":3600}' ;;
"refresh bob r1") echo '{"error":"invalid_grant"}' ;;
*) exit 75 ;;
esac
END
chmod +x "$work/programs/notify-send" "$XDG_CONFIG_HOME/tokenkeep/refresh"
after_the_login() {
    for account in ann bob carol; do
        lifetime=0
        [ $account != carol ] || lifetime=3600
        printf '{"access_token":"a1","refresh_token":"r1","expires_in":%s}' $lifetime |
            "$prefix/bin/tokenkeep" session begin api.example.com $account || return 1
    done
    PATH="$work/programs:$PATH" "$work/pkg-config/login-helper" 20
    for account in ann carol; do "$prefix/bin/tokenkeep" session token api.example.com $account; done
    for account in ann bob carol; do
        "$prefix/bin/tokenkeep" session logout --local api.example.com $account || return 1
    done
}
prints "login-helper" after_the_login <<'END'
Sign in again
api.example.com (bob)

a2
a1
END

# Signing in at the tests' own server, without a browser.
mkdir -p "$work/served" "$XDG_CONFIG_HOME/tokenkeep/providers.d"
: >"$work/ports"
python3 "$examples/../Tests/Servers/lying_server.py" "$work/served" >>"$work/ports" &
server=$!
tail -n +1 -f "$work/ports" --pid="$server" | head -n 1 >/dev/null
address="http://127.0.0.1:$(sed -E 's/.*\bhttp=([0-9]+).*/\1/' "$work/ports")"
printf 'client_id = app\ntoken_endpoint = %s/token\ndevice_authorization_endpoint = %s/device\n' "$address" "$address" \
    >"$XDG_CONFIG_HOME/tokenkeep/providers.d/example.conf"
prints "sign-in" env -u DISPLAY -u WAYLAND_DISPLAY -u BROWSER "$work/pkg-config/sign-in" api.example.com ann example <<'END'
Open https://login.example.com/device and type the code WDJB-MJHT
Authorization: Bearer access-2
END
kill "$server"
missing=
for program in gnome-keyring-daemon secret-tool gdbus dbus-run-session; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
if [ -z "$missing" ]; then
    mkdir -m 700 "$work/desktop"
    prints "load-from-another-program" on_a_desktop <<'END'
no program keeps it
Ann at example.com: their token, from secret-service
their token
END
else
    echo "skip load-from-another-program: not installed:$missing"
fi

readme_block c >"$work/readme.c"
# shellcheck disable=SC2046
if ${CC:-cc} -Wall -Wextra -Werror "$work/readme.c" $(pkg-config --cflags --libs tokenkeep) -o "$work/readme"; then
    prints "README's program in C" "$work/readme" <<'END'
s3cr3t
END
else
    fail "README's program in C does not build"
fi

prints "README's commands" python3 "$here/console.py" "$prefix" </dev/null

prints "Python" python3 "$examples/python/tokenkeep_example.py" <<'END'
loaded: an access token
cleared
NOT_FOUND: no item example.com (alice)
INVALID: the service contains a control character
END

# The modules, with the installed header and program.
export TOKENKEEP_MODULES="$work/modules"
mkdir "$TOKENKEEP_MODULES"
# shellcheck disable=SC2046
${CC:-cc} -shared -fPIC -O2 -Wall -Wextra -Werror "$examples/plugin/keyctl.c" $(pkg-config --cflags tokenkeep) \
    -o "$TOKENKEEP_MODULES/keyctl.so" || fail "keyctl.c does not build"
cp "$examples/plugin/pass.py" "$examples/plugin/environment.sh" "$TOKENKEEP_MODULES"
in_the_keyring() {
    stack="any sufficient keyctl ring=tokenkeep-examples-$$"
    printf token | "$prefix/bin/tokenkeep" save --stack "$stack" example.com ann &&
        "$prefix/bin/tokenkeep" load --stack "$stack" example.com ann && echo &&
        "$prefix/bin/tokenkeep" clear --stack "$stack" example.com ann
}
prints "keyctl" in_the_keyring <<'END'
token
END
checked() { "$prefix/bin/tokenkeep" module check "$@" | grep -vE '^(ok|skip|it says)\b'; }
prints "tokenkeep module check keyctl" checked keyctl "ring=tokenkeep-examples-$$" <<'END'
18 passed, 0 failed, 0 skipped
END
sed -n '/^```c$/,/^```$/p' "$examples/../docs/modules.md" | sed '/^```/d' >"$work/one.c"
# shellcheck disable=SC2046
${CC:-cc} -shared -fPIC -Wall -Wextra -Werror "$work/one.c" -o "$TOKENKEEP_MODULES/one.so" $(pkg-config --cflags tokenkeep) ||
    fail "the module of docs/modules.md does not build"
from_one() { "$prefix/bin/tokenkeep" load --stack "load required one" example.com "" && echo; }
prints "the module of docs/modules.md" from_one <<'END'
s3cr3t
END
prints "tokenkeep module check one" checked one <<'END'
3 passed, 0 failed, 15 skipped
END
from_the_environment() {
    mkdir "$work/credentials" && printf 'a credential' >"$work/credentials/example.com"
    export GITHUB_TOKEN='a variable' CREDENTIALS_DIRECTORY="$work/credentials"
    stack="load sufficient environment.sh env=GITHUB_TOKEN env=CREDENTIALS_DIRECTORY github.com/ci=GITHUB_TOKEN"
    "$prefix/bin/tokenkeep" load --stack "$stack" github.com ci && echo &&
        "$prefix/bin/tokenkeep" load --stack "$stack" example.com "" && echo
}
prints "environment" from_the_environment <<'END'
a variable
a credential
END
prints "tokenkeep module check environment.sh" checked environment.sh <<'END'
3 passed, 0 failed, 15 skipped
END
# Whoever is killed in the midst of a request has saved nothing: the pipe's end is no empty line.
half_a_request() {
    printf 'tokenkeep=1\noperation=save\nnamespace=\nservice=YQ==\naccount=\nsecret+=aGFsZg==\n' |
        "$examples/plugin/pass.py"
}
prints "pass.py does nothing for half a request" half_a_request </dev/null
if command -v pass >/dev/null && command -v gpg >/dev/null; then
    in_the_password_store() {
        export GNUPGHOME="$work/gpg" PASSWORD_STORE_DIR="$work/password-store"
        stack="any required pass.py env=GNUPGHOME env=PASSWORD_STORE_DIR timeout=30s"
        mkdir -m 700 "$GNUPGHOME" &&
            gpg --batch --quiet --passphrase "" --quick-generate-key test@example.com default default never 2>/dev/null &&
            pass init test@example.com >/dev/null &&
            printf token | "$prefix/bin/tokenkeep" save --stack "$stack" --timeout 30s example.com ann --label "A label" &&
            pass show tokenkeep/%/example.com/ann | head -n 2 &&
            "$prefix/bin/tokenkeep" load --stack "$stack" --timeout 30s example.com ann && echo &&
            "$prefix/bin/tokenkeep" clear --stack "$stack" --timeout 30s example.com ann
        result=$?
        gpgconf --kill all
        return $result
    }
    prints "pass" in_the_password_store <<'END'
token
label: A label
token
END
else
    echo "skip pass: it or gpg is not installed"
fi

prints "Swift" env -u LD_LIBRARY_PATH "$built/TokenExample" <"$here/swift.txt"
start_server
prints "an application" env -u LD_LIBRARY_PATH "$built/ApplicationExample" "http://127.0.0.1:$port" <"$here/application.txt"
kill "$server"

# A folder whose name holds a space: nothing in the demo may break at it.
mkdir "$work/a folder"
if env -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH TMPDIR="$work/a folder" "$examples/demo.sh" "$prefix" >"$work/demo" 2>&1; then
    echo "ok   the demo"
    passed=$((passed + 1))
else
    fail "the demo"
    cat "$work/demo"
fi
if "$examples/demo.sh" "$work/a folder" >"$work/demo" 2>&1; then
    fail "the demo succeeds where nothing is installed"
else
    echo "ok   the demo fails where nothing is installed"
    passed=$((passed + 1))
fi

documents=$prefix/share/doc/tokenkeep
for document in "$documents"/*.md "$documents"/docs/*.md; do
    for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/](//' | grep -v '^https:'); do
        [ -e "$(dirname "$document")/$link" ] || fail "$(basename "$document") links to $link, which is not installed"
    done
done
[ -f "$documents/README.md" ] || fail "README.md is not installed"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# Tests the shared library as C programs see it. One line a test, then "N passed, N failed, N skipped". What needs root or
# a tool may be skipped, but not by root with CI=true.
#
# Usage: run.sh [--sanitize] DIRECTORY      a build directory of CMake, or a prefix it was installed to
# --sanitize builds the programs with AddressSanitizer and UndefinedBehaviorSanitizer.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
sanitize=
if [ "${1:-}" = --sanitize ]; then
    sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
    shift
fi
# The programs live by the tests' clock; AddressSanitizer's library wants to be the first one.
if [ -z "$sanitize" ] && [ -z "${TOKENKEEP_TEST_CLOCK:-}" ]; then
    exec "$here/../Support/Clock/run.sh" "$0" "$@"
fi
[ $# -eq 1 ] || { echo "usage: run.sh [--sanitize] DIRECTORY" >&2; exit 2; }

library=$(find "$1/" -name libtokenkeep.so -print -quit 2>/dev/null)
[ -n "$library" ] || { echo "run.sh: no libtokenkeep.so under $1" >&2; exit 2; }
libraries=$(cd "$(dirname "$library")" && pwd)
headers=$root/include
[ -f "$1/include/tokenkeep.h" ] && headers=$(cd "$1/include" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"
mkdir "$HOME"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
unset DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR
unset TOKENKEEP_TEST_STACK TOKENKEEP_DEBUG XDG_DATA_HOME
: >"$work/results"

# Runs a command whose lines are test results. A death without a FAIL line is a failure of its own.
group() {
    name=$1
    shift
    echo "-- $name"
    "$@" >"$work/output" 2>&1
    code=$?
    cat "$work/output"
    if [ $code -ne 0 ] && ! grep -q '^FAIL' "$work/output"; then
        echo "FAIL $name ended with $code" | tee -a "$work/output"
    elif ! grep -Eq '^(ok|FAIL|skip) ' "$work/output"; then
        echo "FAIL $name tested nothing" | tee -a "$work/output"
    fi
    cat "$work/output" >>"$work/results"
}

compile() {
    # -no-pie: a program that is not position independent must link too, also where it takes a function's address.
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -g -O1 -Wall -Wextra -Werror $2 -I"$headers" "$here/$1.c" "$here/../Support/Clock/page.c" \
        -o "$work/$1" -L"$libraries" -ltokenkeep -Wl,-rpath,"$libraries" -pthread || exit 2
}

if [ -z "$sanitize" ]; then
    group "headers" "$here/check-headers.sh" "$headers"
    group "abi" "$here/check-abi.sh" "$headers"
    group "exports" "$here/check-exports.sh" "$library" "$headers"
    group "library" "$here/check-library.sh" "$library"
    [ ! -d "$1/libexec/tokenkeep" ] || group "no test clock" "$here/check-clock.sh" "$1"
    group "libsecret" "$here/check-libsecret.sh"
    group "libcurl" "$here/check-libcurl.sh"
    [ ! -d "$1/share/doc/tokenkeep" ] || group "notices" "$here/check-notices.sh" "$1"
fi

for program in null_pointers structures limits items versions_and_lists damage processes_and_threads watch cancel \
    sessions; do
    compile "$program" "$sanitize"
    for stack in default "any required memory"; do
        export TOKENKEEP_VAULT="$work/$program.vault"
        if [ "$stack" = default ]; then
            group "$program, vault" "$work/$program"
        elif [ "$program" != damage ] && [ "$program" != watch ] && [ "$program" != cancel ] &&
            [ "$program" != sessions ]; then
            group "$program, memory" env TOKENKEEP_TEST_STACK="$stack" "$work/$program"
        fi
    done
done
export TOKENKEEP_MODULES="$work/their-modules"
mkdir "$TOKENKEEP_MODULES"
${CC:-cc} -shared -fPIC -g -Wall -Wextra -Werror -I"$headers" "$here/../TokenKeepPlugin/Fixtures/fixture.c" \
    -o "$TOKENKEEP_MODULES/fixture.so" || exit 2
compile resources "$sanitize"
export TOKENKEEP_VAULT="$work/resources.vault"
group "resources" "$work/resources"
if [ -z "$sanitize" ]; then
    compile forks ""
    export TOKENKEEP_VAULT="$work/forks.vault"
    group "forks, vault" "$work/forks"
    group "forks, memory" env TOKENKEEP_TEST_STACK="any required memory" "$work/forks"
    compile stacks ""
    export TOKENKEEP_VAULT="$work/stacks.vault"
    group "stacks, vault" "$work/stacks"
    group "stacks, memory" env TOKENKEEP_TEST_STACK="any required memory" "$work/stacks"
fi
compile modules "$sanitize"
export TOKENKEEP_VAULT="$work/modules.vault"
group "modules" "$work/modules"
if [ -z "$sanitize" ]; then
    group "a module that faults" "$here/module-crash.sh" "$work/modules"
fi
compile messages "$sanitize"
export TOKENKEEP_VAULT="$work/messages.vault"
if echo horse | "$(dirname "$libraries")/bin/tokenkeep" password set --stdin; then
    group "messages" "$work/messages"
else
    echo "FAIL messages: the vault got no password" | tee -a "$work/results"
fi
compile levels "$sanitize"
export TOKENKEEP_VAULT="$work/levels.vault"
if echo horse | "$(dirname "$libraries")/bin/tokenkeep" password set --stdin; then
    group "levels" "$work/levels"
    [ -n "$sanitize" ] || group "stacks, password" env TOKENKEEP_TEST_PASSWORD=yes "$work/stacks"
else
    echo "FAIL levels: the vault got no password" | tee -a "$work/results"
fi
if [ -z "$sanitize" ]; then
    # The program's own dlopen and pthread_create must be those that the library calls.
    compile descriptors -rdynamic
    export TOKENKEEP_VAULT="$work/descriptors.vault"
    cat >"$work/bus.conf" <<'END'
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
END
    group "descriptors" dbus-run-session --config-file="$work/bus.conf" -- "$work/descriptors"
fi
compile without_glib "$sanitize"
export TOKENKEEP_VAULT="$work/without_glib.vault"
group "without_glib" "$work/without_glib"

if [ -z "$sanitize" ]; then
    compile null_pointers -no-pie
    export TOKENKEEP_VAULT="$work/no-pie.vault"
    group "null_pointers, without -pie" "$work/null_pointers"
    group "secure_execution" "$here/secure_execution.sh" "$library" "$headers"
    compile providers ""
    export TOKENKEEP_VAULT="$work/providers.vault"
    group "providers" "$here/providers.sh" "$work/providers"
    compile login ""
    export TOKENKEEP_VAULT="$work/login.vault"
    group "login" "$here/login.sh" "$work/login"
    compile remains ""
    export TOKENKEEP_VAULT="$work/remains.vault"
    group "remains" "$here/remains.sh" "$work/remains"
    compile unlock_remains ""
    export TOKENKEEP_VAULT="$work/unlock-remains.vault"
    group "unlock_remains" "$here/unlock-remains.sh" "$work/unlock_remains" "$(dirname "$libraries")/bin/tokenkeep"
fi

passed=$(grep -c '^ok ' "$work/results")
failed=$(grep -c '^FAIL ' "$work/results")
skipped=$(grep -c '^skip ' "$work/results")
echo "$passed passed, $failed failed, $skipped skipped"
if [ "$skipped" -gt 0 ] && [ "${CI:-}" = true ] && [ "$(id -u)" -eq 0 ]; then
    echo "run.sh: nothing may be skipped here:" >&2
    grep '^skip ' "$work/results" >&2
    exit 1
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

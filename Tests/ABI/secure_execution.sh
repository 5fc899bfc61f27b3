#!/bin/sh
# A program that runs with more rights than its caller (AT_SECURE) ignores TOKENKEEP_VAULT,
# TOKENKEEP_DEBUG, TOKENKEEP_MODULES and the stacks in XDG_CONFIG_HOME.
#
# Usage: secure_execution.sh LIBRARY INCLUDE-DIRECTORY
set -u
library=$1 headers=$2
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" -ne 0 ]; then
    echo "skip secure execution: needs root, to give a program to another user"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
user=nobody # its home does not exist, so nothing can be left anywhere
mkdir "$work/open"
chown "$user" "$work/open"
export TOKENKEEP_VAULT="$work/open/vault" XDG_CONFIG_HOME="$work/config"
stacks="$XDG_CONFIG_HOME/tokenkeep/stack.d"
mkdir -p "$stacks"

# The loader ignores LD_LIBRARY_PATH here, and the other user may not reach the build: all goes to one place.
cp -L "$library" "$work/libtokenkeep.so.0"
${CC:-cc} -I"$headers" "$here/secure_execution.c" -o "$work/program" "$work/libtokenkeep.so.0" \
    -Wl,-rpath,"$work" || exit 2
chmod 755 "$work/libtokenkeep.so.0"
chown "$user" "$work/program"

result=0
check() {
    if [ "$2" = "$3" ]; then echo "ok   $1"; else
        echo "FAIL $1: \"$3\", expected \"$2\""
        result=1
    fi
}
vault() { if [ -e "$TOKENKEEP_VAULT" ]; then echo made; else echo none; fi; }

echo malformed >"$stacks/default.conf"
chmod -R go=rX "$XDG_CONFIG_HOME"
chmod 4755 "$work/program"
check "a setuid program runs in secure mode and finds no vault" "secure DENIED" "$("$work/program")"
check "a setuid program ignores TOKENKEEP_VAULT" none "$(vault)"
check "a setuid program ignores TOKENKEEP_DEBUG" "" "$(TOKENKEEP_DEBUG=1 "$work/program" 2>&1 >"$work/output")"
# A module that would be loaded, where the caller's environment were heard.
mkdir "$work/modules"
export TOKENKEEP_MODULES="$work/modules"
${CC:-cc} -shared -fPIC -I"$headers" "$here/../TokenKeepPlugin/Fixtures/fixture.c" -o "$work/modules/fixture.so" || exit 2
chmod -R go=rX "$work/modules"
check "a setuid program ignores TOKENKEEP_MODULES" "secure INVALID" "$("$work/program" "any required fixture")"
# The control: the same program and user, without secure mode, do use it.
chmod 755 "$work/program"
check "the same program without setuid reads the stack" "plain INVALID" \
    "$(setpriv --reuid="$user" --clear-groups "$work/program")"
echo "any required vault" >"$stacks/default.conf"
check "the same program without setuid obeys TOKENKEEP_DEBUG" \
    "tokenkeep: save secure (a): journal: OK, the vault keeps it" \
    "$(TOKENKEEP_DEBUG=1 setpriv --reuid="$user" --clear-groups "$work/program" 2>&1 >"$work/output")"
check "the same program without setuid saves" "plain OK" \
    "$(setpriv --reuid="$user" --clear-groups "$work/program")"
check "the same program without setuid uses TOKENKEEP_VAULT" made "$(vault)"
check "the same program without setuid loads a module of TOKENKEEP_MODULES" "plain OK" \
    "$(setpriv --reuid="$user" --clear-groups "$work/program" "any required fixture")"
exit $result

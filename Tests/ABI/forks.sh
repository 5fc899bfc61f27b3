#!/bin/sh
# Runs the program forks.c alone. TOKENKEEP_FORKS is the number of forks.
#
# Usage: forks.sh PREFIX      a prefix that the library was installed to
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: forks.sh PREFIX" >&2; exit 2; }
library=$(find "$1/" -name libtokenkeep.so -print -quit)
[ -n "$library" ] || { echo "forks.sh: no libtokenkeep.so under $1" >&2; exit 2; }
libraries=$(cd "$(dirname "$library")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -g -O1 -Wall -Wextra -Werror -I"$1/include" "$here/forks.c" -o "$work/forks" \
    -L"$libraries" -ltokenkeep -Wl,-rpath,"$libraries" -pthread
unset DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR
# Without the waits of the vault for its locks the children meet the threads' first calls more often.
for stack in "any required memory" "any required vault"; do
    HOME="$work" TOKENKEEP_VAULT="$work/vault" TOKENKEEP_TEST_STACK="$stack" "$work/forks"
done

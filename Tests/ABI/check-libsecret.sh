#!/bin/sh
# The functions of libsecret and GLib that are called through a table have the types that their headers give them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=$here/../../Sources/CLibsecret/include

check() {
    # shellcheck disable=SC2046
    ${CC:-cc} -fsyntax-only -Wall -Werror -I"$1" $(pkg-config --cflags libsecret-1) "$here/libsecret-functions.c"
}

if check "$table"; then echo "ok the table's types are those of the headers"; else echo "FAIL the table's types"; fi

broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
sed 's/(libsecret, GType, secret_service_get_type, (void))/(libsecret, int *, secret_service_get_type, (void))/' \
    "$table/functions.def" >"$broken/functions.def"
if check "$broken" 2>/dev/null; then echo "FAIL a wrong type goes unnoticed"; else echo "ok a wrong type is noticed"; fi

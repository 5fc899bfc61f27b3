#!/bin/sh
# The functions of libcurl that are called through a table have the types that its headers give them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=$here/../../Sources/CCurl

check() {
    # shellcheck disable=SC2046
    ${CC:-cc} -fsyntax-only -Wall -Werror -I"$1" -I"$table" $(pkg-config --cflags libcurl) \
        "$here/libcurl-functions.c"
}

if check "$table"; then echo "ok the table's types and numbers are those of the headers"; else echo "FAIL the table"; fi

broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
sed 's/FUNCTION(CURL \*, curl_easy_init, (void))/FUNCTION(int *, curl_easy_init, (void))/' \
    "$table/curl_functions.def" >"$broken/curl_functions.def"
if check "$broken" 2>/dev/null; then echo "FAIL a wrong type goes unnoticed"; else echo "ok a wrong type is noticed"; fi
sed 's/CURLOPT_NOSIGNAL, 99/CURLOPT_NOSIGNAL, 98/' "$table/curl_numbers.def" >"$broken/curl_numbers.def"
cp "$table/curl_functions.def" "$broken/curl_functions.def"
if check "$broken" 2>/dev/null; then echo "FAIL a wrong number goes unnoticed"; else echo "ok a wrong number is noticed"; fi

#!/bin/sh
# The installation has the licence of each archive and each package of others that is linked in, and the debug symbols are found by
# the build id.
#
# Usage: check-notices.sh PREFIX
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
notices=$1/share/doc/tokenkeep/licenses
result=0
check() {
    if [ "$2" = "$3" ]; then echo "ok   $1"; else
        echo "FAIL $1: \"$3\", expected \"$2\""
        result=1
    fi
}

# The file with the licence of an archive or a package; nothing if parts.txt has none.
notice() {
    sed '/^#/d' "$notices/parts.txt" | while read -r pattern file; do
        # shellcheck disable=SC2254
        case $1 in $pattern) echo "$file" ;; esac
    done
}
without_notice() {
    while read -r name; do
        file=$(notice "$name")
        [ -n "$file" ] && [ -s "$notices/$file" ] || echo "$name"
    done
}

check "the list of linked archives has Swift's and the C++ runtime" "libstdc++.a libswiftCore.a" \
    "$(grep -xE 'libstdc\+\+\.a|libswiftCore\.a' "$notices/linked.txt" | tr '\n' ' ' | sed 's/ $//')"
check "each linked archive has a notice" "" "$(without_notice <"$notices/linked.txt")"
# Packages that SwiftPM fetches for the traits, the tests and the examples alone are not linked in.
check "each package that is linked in has a notice" "" \
    "$(ls "$root"/.build/checkouts "$root"/.build-release/checkouts 2>/dev/null | sed "/:$/d; /^$/d" | sort -u | grep -v '^swift-http-types$' | without_notice)"
check "each file with a licence is named" "" \
    "$(cd "$notices" && ls | grep -vxF -e parts.txt -e linked.txt | while read -r file; do
        grep -q " $file\$" parts.txt || echo "$file"
    done)"
# debian/copyright, which the Debian packages install, names each part.
check "debian/copyright names each part" "" \
    "$(sed '/^#/d; s/ .*//' "$notices/parts.txt" | while read -r part; do grep -qF " $part" "$root/debian/copyright" || echo "$part"; done)"
exit $result

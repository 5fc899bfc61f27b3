#!/bin/sh
# No program and no library that is installed knows the tests' clock (Tests/Support/Clock): none names its functions, its
# variable or its files, and none has functions of its own in the place of those of libc that the clock replaces.
#
# Usage: check-clock.sh PREFIX
set -u
prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
clock=$here/../Support/Clock built=$here/../../build/test-clock
"$clock/run.sh" true || exit 2 # builds it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
result=0

{
    grep -oE '\btest_clock_[a-z_]+\(' "$clock/include/test_clock.h" | tr -d '('
    sed -n 's/^#define TEST_CLOCK_VARIABLE "\(.*\)"/\1/p' "$clock/include/test_clock.h"
    echo tokenkeep-clock
} | sort -u >"$work/names"
nm -D --defined-only "$built/preload.so" | awk '$2 ~ /[TW]/ { print $3 }' | sort -u >"$work/replaced"

# Prints what a file has of the clock.
clock_in() {
    grep -aoFf "$work/names" "$1" | sort -u
    { nm -D --defined-only "$1"; nm --defined-only "$1"; } 2>/dev/null | awk 'NF == 3 { sub("@.*", "", $3); print $3 }' |
        sort -u | comm -12 - "$work/replaced"
}
# The check finds the clock where it is.
for part in preload.so test-clock; do
    if [ -z "$(clock_in "$built/$part")" ] || ! grep -q clock_gettime "$work/replaced"; then
        echo "FAIL the check does not find the clock in $part"
        exit 1
    fi
done

find "$prefix/" -type f | while read -r file; do
    [ "$(head -c 4 "$file" | tr -d '\177')" = ELF ] && echo "${file#"$prefix"/}"
done | sort >"$work/files"
for shipped in bin/tokenkeep bin/tokenkeep-credential lib/libtokenkeep.so. pam_tokenkeep.so tokenkeep-agent \
    tokenkeep-secret-service tokenkeep-tpm2; do
    grep -qF "$shipped" "$work/files" || { echo "FAIL $shipped is not installed" && result=1; }
done
while read -r file; do
    found=$(clock_in "$prefix/$file" | tr '\n' ' ')
    if [ -z "$found" ]; then echo "ok   $file knows no test clock"; else
        echo "FAIL $file has the tests' clock: $found"
        result=1
    fi
done <"$work/files"
exit $result

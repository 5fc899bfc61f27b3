#!/bin/sh
# What is installed reads the kernel's clocks alone: the clock that tests move is in none of the programs and libraries.
#
# Usage: check-clock.sh PREFIX MOVED
#   MOVED   a file that has the tests' clock, to show that the check sees it
set -u
prefix=$1
result=0
# The variable that names the clock's page, and the clock's functions.
has_clock() { grep -qE 'TOKENKEEP_TEST_CLOCK|test_clock_' "$1"; }
if has_clock "$2"; then echo "ok   the check finds the clock in $(basename "$2")"; else
    echo "FAIL the check does not find the clock in $2"
    result=1
fi
files=$(find "$prefix/bin" "$prefix/lib" "$prefix/libexec" -type f)
count=0
for file in $files; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    count=$((count + 1))
    if has_clock "$file"; then
        echo "FAIL the tests' clock is in $file"
        result=1
    fi
done
if [ "$count" -ge 7 ]; then echo "ok   the tests' clock is in none of $count programs and libraries"; else
    echo "FAIL only $count programs and libraries were found in $prefix"
    result=1
fi
exit $result

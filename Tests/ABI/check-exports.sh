#!/bin/sh
# The headers, symbols.txt and the library's exports name the same functions.
#
# Usage: check-exports.sh LIBRARY INCLUDE-DIRECTORY
set -eu
library=$1 headers=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# After the preprocessor, where comments are gone; a typedef of a function declares none.
echo '#include <tokenkeep.h>' | ${CC:-cc} -E -P -I"$headers" - | tr '\n' ' ' | sed 's/typedef [^;{]*;//g' |
    grep -oE '\btokenkeep_[a-z_0-9]+ *\(' | tr -d ' (' | sort -u >"$work/headers"
sed '/^#/d; /^$/d' "$here/symbols.txt" | sort >"$work/listed-with-version"
cut -d' ' -f1 "$work/listed-with-version" | sort >"$work/symbols.txt"
nm -D --defined-only "$library" | awk '$2 != "A" { sub("@+", " ", $3); print $3 }' | sort >"$work/exported-with-version"
cut -d' ' -f1 "$work/exported-with-version" | sort >"$work/library"

result=0
compare() {
    only=$(comm -23 "$work/$1" "$work/$2" | tr '\n' ' ')
    if [ -n "$only" ]; then
        echo "FAIL in $3 but not in $4: $only"
        result=1
    elif [ ! -s "$work/$1" ]; then
        echo "FAIL $3: nothing there"
        result=1
    else
        echo "ok   everything in $3 is in $4"
    fi
}
compare headers symbols.txt "the headers" symbols.txt
compare symbols.txt headers symbols.txt "the headers"
compare library symbols.txt "the library" symbols.txt
compare symbols.txt library symbols.txt "the library"
if cmp -s "$work/listed-with-version" "$work/exported-with-version"; then
    echo "ok   every export has the version that symbols.txt gives it"
else
    echo "FAIL symbol versions differ from symbols.txt:"
    diff "$work/listed-with-version" "$work/exported-with-version"
    result=1
fi
exit $result

#!/bin/sh
# Programs and modules compiled with an earlier header still work: types and functions as in baseline.abi, numbers as in
# constants.txt. Any difference fails until the baseline is changed in the same commit, which a reviewer sees.
#
# Usage: check-abi.sh INCLUDE-DIRECTORY [--update]
#
# Without abidiff it fails, unless TOKENKEEP_WITHOUT_ABIDIFF=1 says that the numbers are enough.
#
# abidiff sees nothing in a library written in Swift. So it gets one in C made of the headers: every function with a body
# that traps.
set -u
headers=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Makes the stub of some headers.
stub() {
    printf '#include <tokenkeep.h>\n#include <tokenkeep/module.h>\n' >"$work/all.h"
    # Without structures' bodies and attributes, what ends in parentheses and is no type is a function.
    ${CC:-cc} -E -P -I"$1" "$work/all.h" | tr '\n' ' ' |
        sed -E 's/\{[^{}]*\}//g; s/__attribute__ *\(\(([^()]|\([^()]*\))*\)\)//g' |
        grep -oE '[^;]*\btokenkeep_[a-z_0-9]+ *\([^;]*\);' | grep -vE '^ *typedef' |
        sed 's/;$/ { __builtin_trap(); }/' >"$work/bodies"
    { cat "$work/all.h" "$work/bodies"; } >"$work/stub.c"
    # dwarf-4: what libabigail before 2.4 reads without complaint
    ${CC:-cc} -g -gdwarf-4 -O0 -w -shared -fPIC -I"$1" "$work/stub.c" -o "$2"
}

constants() {
    ${CC:-cc} -dM -E -I"$1" "$work/all.h" | grep -E '^#define TOKENKEEP_[A-Z0-9_]+ ' |
        grep -vE '_(H|EXPORT|CHECK_RESULT)\b|TOKENKEEP_VERSION|_INIT ' | LC_ALL=C sort
}

stub "$headers" "$work/libtokenkeep.so" || { echo "FAIL the stub does not compile"; exit 1; }
functions=$(wc -l <"$work/bodies")
if [ "${2:-}" = --update ]; then
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$work/libtokenkeep.so" |
        sed "s|$work/||" >"$here/baseline.abi"
    constants "$headers" >"$here/constants.txt"
    exit
fi

result=0
exports=$(grep -cE '^tokenkeep_' "$here/symbols.txt")
if [ "$functions" -eq $((exports + 1)) ]; then echo "ok   the stub has every function, and the modules'"; else
    echo "FAIL the stub has $functions functions, symbols.txt $exports"
    result=1
fi

if constants "$headers" | diff "$here/constants.txt" - >"$work/difference"; then
    echo "ok   numbers are those of the baseline"
else
    echo "FAIL numbers differ from constants.txt"
    cat "$work/difference"
    result=1
fi

if ! command -v abidiff >/dev/null; then
    if [ "${TOKENKEEP_WITHOUT_ABIDIFF:-}" = 1 ]; then
        echo "skip types and functions: abidiff is not installed"
        exit $result
    fi
    echo "FAIL types and functions: abidiff (abigail-tools) is not installed; TOKENKEEP_WITHOUT_ABIDIFF=1 does without"
    exit 1
fi

# Any bit counts: a structure that grew is said to be harmless, and is not.
same() { abidiff --no-show-locs "$here/baseline.abi" "$1" >"$work/difference" 2>&1; }
if same "$work/libtokenkeep.so"; then echo "ok   types and functions are those of the baseline"; else
    echo "FAIL types or functions differ from baseline.abi; if that is meant: check-abi.sh INCLUDE-DIRECTORY --update"
    cat "$work/difference"
    result=1
fi
# The check must be able to fail: one header at a time is changed.
changed() {
    rm -rf "$work/changed"
    cp -r "$headers" "$work/changed"
    sed -i "$2" "$work/changed/tokenkeep/$1"
    cmp -s "$headers/tokenkeep/$1" "$work/changed/tokenkeep/$1" && { echo "FAIL nothing was changed: $3"; result=1; return; }
    stub "$work/changed" "$work/changed.so" || { echo "FAIL the changed stub does not compile: $3"; result=1; return; }
    if same "$work/changed.so"; then
        echo "FAIL goes unnoticed: $3"
        result=1
    else
        echo "ok   is noticed: $3"
    fi
}
changed module.h 's/    tokenkeep_status (\*prepare)/    int added;\n&/' "a field in the middle of a module's table"
changed module.h 's/^} tokenkeep_module;/    void *added;\n&/' "a field at the end of a module's table"
changed module.h 's/uint32_t (\*remaining_ms)/uint64_t (*remaining_ms)/' "another type of a host's function"
changed types.h 's/    uint32_t timeout_ms;/    uint64_t timeout_ms;/' "another type of a field"
changed store.h 's/const char \*tokenkeep_version(void)/const char *tokenkeep_version(int)/' "another parameter"
exit $result

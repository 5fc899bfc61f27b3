#!/bin/sh
# The headers compile alone, by every compiler and standard that the API promises, with warnings as errors.
#
# Usage: check-headers.sh INCLUDE-DIRECTORY
set -u
headers=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
result=0

# Every header on its own, and the initialisers, which must name every field without designators.
cat >"$work/use.c" <<'END'
#include <tokenkeep.h>
int main(void) {
    tokenkeep_open_options open_options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_save_options save_options = TOKENKEEP_SAVE_OPTIONS_INIT;
    return open_options.struct_size == sizeof open_options && save_options.struct_size == sizeof save_options ? 0 : 1;
}
END
echo 'typedef int not_empty;' >"$work/one.c" # pedantic compilers want something in a file
compile() {
    compiler=$1 standard=$2 language=$3
    name="$compiler -std=$standard"
    if ! command -v "$compiler" >/dev/null; then
        echo "FAIL $name: there is no $compiler"
        result=1
        return
    fi
    for header in "$headers"/tokenkeep.h "$headers"/tokenkeep/*.h; do
        "$compiler" -x "$language" -std="$standard" -Wall -Wextra -pedantic -Werror -I"$headers" -fsyntax-only \
            -include "$header" "$work/one.c" || { echo "FAIL $name: $(basename "$header")"; result=1; return; }
    done
    if "$compiler" -x "$language" -std="$standard" -Wall -Wextra -pedantic -Werror -I"$headers" "$work/use.c" \
        -o "$work/use" && "$work/use"; then
        echo "ok   $name"
    else
        echo "FAIL $name"
        result=1
    fi
}
# A result that says whether a token was kept or cleared may not be ignored unseen. Every function that has one, by the
# headers' own list.
functions=$(echo '#include <tokenkeep.h>' | cc -E -P -I"$headers" - | tr '\n' ' ' | sed 's/typedef [^;]*;//g' |
    grep -oE 'tokenkeep_status +tokenkeep_[a-z_]+ *\([^)]*\)' | sed 's/tokenkeep_status *//; s/ *(/ (/' |
    grep -v '^tokenkeep_status_name\|^tokenkeep_error_status')
[ "$(echo "$functions" | wc -l)" -ge 7 ] || { echo "FAIL results: too few functions: $functions"; result=1; }
echo "$functions" | {
    unchecked=0
    while read -r function parameters; do
        arguments=$(echo "$parameters" | sed 's/[^,()][^,()]*/0/g')
        printf '#include <tokenkeep.h>\nvoid ignore(void);\nvoid ignore(void) { %s%s; }\n' "$function" "$arguments" \
            >"$work/ignore.c"
        cc -c -o "$work/ignore.o" -I"$headers" "$work/ignore.c" 2>&1 | grep -q 'Wunused-result' ||
            { echo "FAIL the result of $function may be ignored"; unchecked=1; }
    done
    [ "$unchecked" -eq 0 ] && echo "ok   no result may be ignored"
} || result=1
# The page for readers has every function, and says what the headers say.
if "$(dirname "$0")/../../scripts/c-reference.py" --check; then
    echo "ok   docs/c-reference.md has every function, as the headers describe it"
else
    echo "FAIL docs/c-reference.md"
    result=1
fi
for standard in c99 c17; do
    compile gcc $standard c
    compile clang $standard c
done
compile g++ c++17 c++
compile clang++ c++17 c++
exit $result

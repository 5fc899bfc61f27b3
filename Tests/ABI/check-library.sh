#!/bin/sh
# The library stands alone and shows nothing but the C API.
#
# Usage: check-library.sh LIBRARY
set -u
library=$1
limit=8388608 # bytes: 8 MiB
result=0
check() {
    if [ "$2" = "$3" ]; then echo "ok   $1"; else
        echo "FAIL $1: \"$3\", expected \"$2\""
        result=1
    fi
}
needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "     needs: $(echo "$needed" | tr '\n' ' ')"
check "libc is needed: the list was read" libc.so.6 "$(echo "$needed" | grep '^libc\.so')"
check "no library of Swift, GLib, the Secret Service or curl is needed" "" \
    "$(echo "$needed" | grep -Ei 'swift|foundation|dispatch|secret|glib|gobject|gio|icu|curl|ssl' || true)"
check "only tokenkeep_ functions are exported" "" \
    "$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^tokenkeep_/ { print $3 }')"
check "exports can be taken the address of by programs that are not position independent" "" \
    "$(readelf --dyn-syms -W "$library" | awk '$8 ~ /^tokenkeep_/ && $6 != "DEFAULT" { print $8 }')"
check "the name in the library" libtokenkeep.so.0 \
    "$(readelf -dW "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
check "no symbol table is left" "" "$(readelf -SW "$library" | grep -oE '\.(symtab|debug_info)' || true)"
check "the build id, by which debuggers find the symbols, is a hash" 40 \
    "$(readelf -nW "$library" | sed -n 's/.*Build ID: //p' | grep -v '^0*$' | tr -d '\n' | wc -c)"
check "no search path is built in" "" "$(readelf -dW "$library" | grep -oE 'R(UN)?PATH' || true)"
# A String.contains(String) or a split by a String is enough to bring 1.3 MB in.
check "no regular expressions are linked" 0 "$(grep -c RegexParser "$library")"
size=$(stat -Lc %s "$library")
echo "     size: $size bytes"
check "it is not larger than $limit bytes" yes "$([ "$size" -le $limit ] && echo yes || echo "no: $size")"
exit $result

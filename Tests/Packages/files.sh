# The files of the packages, read without installing them. Read by run.sh.
names="libtokenkeep0 libtokenkeep-dev tokenkeep-common tokenkeep tokenkeep-secret-service libpam-tokenkeep python3-tokenkeep"
files=$work/files
mkdir -p "$files"
for name in $names; do
    dpkg-deb -x "$packages/$name"_*.deb "$files/$name" 2>/dev/null || fail "there is no package $name"
done

is "lintian has nothing to say" "" \
    "$(lintian --allow-root --pedantic --fail-on none --tag-display-limit 0 "$packages"/tokenkeep_*.changes 2>&1 | grep -v '^N:' | head -n 20)"

program=$files/tokenkeep/usr/bin/tokenkeep
library=$(ls "$files"/libtokenkeep0/usr/lib/*/libtokenkeep.so.*.*.*)
at_most "tokenkeep" 16500000 "$(stat -c %s "$program")"
at_most "tokenkeep-credential" 8000000 "$(stat -c %s "$files/tokenkeep/usr/bin/tokenkeep-credential")"
at_most "tokenkeep-secret-service" 8000000 \
    "$(stat -c %s "$files/tokenkeep-secret-service/usr/libexec/tokenkeep/tokenkeep-secret-service")"
at_most "libtokenkeep.so" 8388608 "$(stat -c %s "$library")"

# Every ELF file of the packages, but those of debug symbols.
find "$files" -type f | while read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3 | tr -d '\0')" = ELF ] && echo "$file"
done >"$work/elf"
[ "$(wc -l <"$work/elf")" -ge 7 ] || fail "the packages have $(wc -l <"$work/elf") ELF files, not 7"
while read -r file; do
    short=${file#"$files"/}
    pie=
    case $short in *.so | *.so.*) pie=--nopie ;; esac
    # Stack clash protection shows in functions with large frames alone; the build's log has the flag.
    # The note of -fcf-protection is in no program of Debian 12: its C library's own objects have none.
    is "$short is hardened" "" "$(hardening-check --quiet --lintian --nocfprotection ${pie:+"$pie"} "$file" 2>&1 | grep -v 'stack-clash')"
    is "$short: indirect calls into C meet marked places" yes \
        "$(objdump -d --no-show-raw-insn "$file" | grep -m 20 -c endbr64 | sed 's/^20$/yes/')"
    is "$short: no RUNPATH, no text relocation, no executable stack" "" \
        "$(readelf -dlW "$file" | grep -E 'RUNPATH|RPATH|TEXTREL|GNU_STACK.*E ' | head -n 1)"
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    is "$short has debug symbols apart" 1 "$(dpkg-deb -c "$packages/${short%%/*}"-dbgsym_*.deb 2>/dev/null | grep -c "${id:2}.debug")"
done <"$work/elf"
is "no section with a hash of the build's directory" "" "$(while read -r file; do readelf -SW "$file" | grep -o swift_modhash; done <"$work/elf")"
is "the packages name the Swift toolchain" "$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')" \
    "$(dpkg-deb -f "$packages"/libtokenkeep0_*.deb Swift-Toolchain)"
# The symbols of the C library that its files need, and packed relocations, which glibc knows from 2.36 on.
for name in libtokenkeep0 tokenkeep tokenkeep-secret-service libpam-tokenkeep; do
    is "$name depends on the glibc that its files need" "$(grep "^$files/$name/" "$work/elf" | while read -r file; do
        objdump -p "$file" | grep -o 'GLIBC_[0-9.]*[0-9]\|GLIBC_ABI_DT_RELR'
    done | sed 's/GLIBC_ABI_DT_RELR/2.36/; s/GLIBC_//' | sort -V | tail -n 1)" \
        "$(dpkg-deb -f "$packages/$name"_*.deb Depends | grep -o 'libc6 (>= [0-9.]*' | sed 's/.* //' | sort -V | tail -n 1)"
done
is "no maintainer script but those of debhelper, and what takes lines out of /etc/pam.d" "libpam-tokenkeep" \
    "$(for name in $names; do
        dpkg-deb -e "$packages/$name"_*.deb "$work/control"
        cat "$work"/control/{pre,post}{inst,rm} 2>/dev/null | sed '/^# Automatically added/,/^# End automatically/d; /^#/d; /^set -e$/d; /^$/d' |
            grep -q . && echo "$name"
        rm -rf "$work/control"
    done)"

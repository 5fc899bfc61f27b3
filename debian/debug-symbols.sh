#!/bin/sh
# Puts the debug symbols that the build took out of files with Swift in them into the packages of debug symbols, as dh_strip does
# for the other files.
#
# Usage: debug-symbols.sh DIRECTORY
set -eu
for file in debian/*/usr/bin/* debian/*/usr/libexec/tokenkeep/* debian/*/usr/lib/*/libtokenkeep.so.*; do
    if [ -L "$file" ] || [ ! -f "$file" ]; then continue; fi
    case $file in debian/tmp/*) continue ;; esac
    id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: //p')
    path=.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug
    [ -n "$id" ] && [ -f "$1/$path" ] || continue
    package=$(echo "$file" | cut -d/ -f2)
    place=debian/.debhelper/$package
    mkdir -p "$place/dbgsym-root/usr/lib/debug/$(dirname "$path")" "$place/dbgsym-root/usr/share/doc"
    objcopy --compress-debug-sections "$1/$path" "$place/dbgsym-root/usr/lib/debug/$path"
    chmod 644 "$place/dbgsym-root/usr/lib/debug/$path"
    ln -sfn "$package" "$place/dbgsym-root/usr/share/doc/$package-dbgsym"
    ids=$( (cat "$place/dbgsym-build-ids" 2>/dev/null || true; echo; echo "$id") | tr -s ' \n' '\n\n' | sed '/^$/d' | sort -u | paste -sd ' ')
    echo "$ids" >"$place/dbgsym-build-ids"
done

#!/bin/sh
# Strips programs without Swift in them and keeps their debug symbols where debuggers find them by the build id.
#
# Usage: keep-debug.sh DIRECTORY FILE...      DIRECTORY is that of .build-id; each FILE is linked with a build id
set -eu
directory=$1
shift
for file in "$@"; do
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    [ -n "$id" ] || { echo "keep-debug: $file has no build id." >&2; exit 1; }
    target=$directory/.build-id/$(echo "$id" | cut -c1-2)
    mkdir -p "$target"
    objcopy --only-keep-debug --compress-debug-sections "$file" "$target/$(echo "$id" | cut -c3-).debug"
    strip --strip-unneeded "$file"
done

#!/bin/sh
# Builds the last commit twice, in directories of different names, and compares what is installed byte by byte.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in one another-place; do
    git clone -q . "$work/$name"
    (
        cd "$work/$name"
        cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr/local
        cmake --build build
        DESTDIR="$work/$name.installed" cmake --install build
    ) >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
done
diff -r "$work/one.installed" "$work/another-place.installed"
echo "Both builds are the same: $(find "$work/one.installed" -type f | wc -l) files."

#!/bin/bash
# Writes the fixtures of a release: a vault of every kind, as this program writes it, and what this program reads there; the headers,
# a program and a module. Run once, at the release, as root, and never again for it.
#
# Usage: make-fixtures.sh PREFIX      (an installation: build/stage)
set -eu
[ $# -eq 1 ] && [ -x "$1/bin/tokenkeep" ] || { echo "usage: make-fixtures.sh PREFIX" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
export TESTS="${here%/*}" HERE="$here" PROGRAM="$(cd "$1" && pwd)/bin/tokenkeep"
root=${TESTS%/*}
version=$("$PROGRAM" --version | cut -d' ' -f2)
out=$here/$version
rm -rf "$out"
mkdir -p "$out"
. "$here/kinds.sh"
for kind in $kinds; do
    work=$(mktemp -d)
    (cd "$work" && unshare -m bash -c '. "$HERE/lib.sh"; . "$HERE/kinds.sh"; machine; "make_$1"; forget' bash "$kind") ||
        { echo "no $kind was made" >&2; exit 1; }
    rm -rf "$work/run" "$work/machine-id"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cJf "$out/$kind.tar.xz" .
    rm -rf "$work"
    "$here/read.sh" "$PROGRAM" "$out/$kind.tar.xz" >"$out/$kind.txt"
done
cp -r "$root/include" "$out/include"
rm "$out/include/module.modulemap"
cp "$root/examples/c/tour.c" "$out/program.c"
cp "$root/examples/plugin/keyctl.c" "$out/module.c"

#!/bin/bash
# Prints what a program finds in a fixture: read.sh PROGRAM FIXTURE.tar.xz. As root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export TESTS="${here%/*}" HERE="$here" PROGRAM="$1"
kind=$(basename "$2" .tar.xz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$2"
cd "$work"
unshare -m bash -c '. "$HERE/lib.sh"; . "$HERE/kinds.sh"; machine; "read_$1"; forget' bash "$kind"

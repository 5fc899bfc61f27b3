#!/bin/sh
# Prints the names of the archives from which the linker took objects, as its --why-extract=FILE lists them.
#
# Usage: linked-archives.sh FILE...
set -eu
tab=$(printf '\t')
sed -n "s/^[^$tab]*$tab\(.*\)([^)]*)$tab.*/\1/p" "$@" | sed 's|.*/||' | sort -u

#!/bin/bash
# The tarball as others use it: it has what the last commit has and the pinned packages with their licences; an empty Swift package
# that depends on it resolves without a network, and fetches nothing.
#
# Usage: tarball.sh PACKAGES      (the directory with the tarball of make dist)
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tarball=$(ls "$1"/tokenkeep-*.tar.xz 2>/dev/null | head -n 1)
[ -n "$tarball" ] || { echo "usage: tarball.sh PACKAGES (make dist makes the tarball)" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"

name=$(basename "$tarball" .tar.xz)
# Unpacked under a narrow umask, by a path with a space, as anybody.
(umask 077 && mkdir "$work/a place" && tar -C "$work/a place" -xJf "$tarball")
source="$work/a place/$name"
is "the tarball has each file of its commit" "" \
    "$(cd "$source" && find . -type f ! -path './vendor/*' | sed 's|^\./||' | sort >"$work/has"
        git -C "$root" ls-tree -r --name-only HEAD | sort >"$work/committed" && diff "$work/committed" "$work/has")"
is "it has the pinned packages with their licences" "$(sed '/^#/d; s/ .*//' "$root/packaging/swift-packages.txt")" \
    "$(cd "$source/vendor" && for package in *; do [ -s "$package/LICENSE.txt" ] && echo "$package"; done)"
is "all entries belong to root and have one time" 1 "$(tar --numeric-owner --full-time -tvJf "$tarball" | awk '{print $2, $4, $5}' | sort -u | wc -l)"

# No network: a namespace of its own, if that is allowed.
alone=
[ "$(id -u)" != 0 ] || alone="unshare -n"
mkdir -p "$work/consumer/Sources/Consumer" "$work/home"
cat >"$work/consumer/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "Consumer", dependencies: [.package(name: "TokenKeep", path: "$source")],
    targets: [.executableTarget(name: "Consumer", dependencies: [.product(name: "TokenKeep", package: "TokenKeep")])])
END
echo "import TokenKeep" >"$work/consumer/Sources/Consumer/main.swift"
HOME="$work/home" $alone swift package --package-path "$work/consumer" --disable-automatic-resolution show-dependencies --format flatlist \
    >"$work/flat" 2>"$work/log"
is "a package that depends on the tarball has swift-system and nothing else, without a network" "swift-system $name" \
    "$(tr 'A-Z' 'a-z' <"$work/flat" | sort | paste -sd ' ')"
is "the programs resolve from the tarball without a network" "swift-argument-parser swift-system" \
    "$(HOME="$work/home" TOKENKEEP_PROGRAM=1 $alone swift package --package-path "$source" --scratch-path "$work/scratch" --disable-automatic-resolution \
        show-dependencies --format flatlist 2>>"$work/log" | sort | paste -sd ' ')"
[ "$failed" -eq 0 ] || tail -n 5 "$work/log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

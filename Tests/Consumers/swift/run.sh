#!/bin/sh
# Builds and runs Swift packages that depend on TokenKeep, as packages of their own: by path, and by the URL of a bare
# clone with a tag. Checks what they print, and that SwiftPM fetches nothing for them but what the library needs.
# By URL the tutorial of Sources/TokenKeep/TokenKeep.docc is built, too, block by block.
#
# Usage: run.sh [BUILT]      with BUILT, where our own debug build is, nothing is compiled: SwiftPM resolves the packages,
# and what our build made of their sources is run.
set -u
built=${1:+$(cd "$1" && pwd)}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
unset TOKENKEEP_PROGRAM TOKENKEEP_MODULE_DIRECTORY DBUS_SESSION_BUS_ADDRESS
export TOKENKEEP_VAULT="$work/vault" XDG_CONFIG_HOME="$work/config"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"

# swift-system comes from this package's own build if it is there: no network is needed.
for repository in "$root"/.build*/repositories/swift-system-*; do
    [ -d "$repository" ] && git clone --quiet --bare "$repository" "$work/swift-system.git" && break
done
mkdir "$work/configuration"
if [ -d "$work/swift-system.git" ]; then
    cat >"$work/configuration/mirrors.json" <<END
{"version": 1, "object": [
    {"original": "https://github.com/apple/swift-system", "mirror": "file://$work/swift-system.git"}
]}
END
fi

# Compares a file with what is expected of it.
check() {
    if cmp -s "$2" "$3"; then
        echo "ok   $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1"
        diff "$2" "$3"
        failed=$((failed + 1))
    fi
}

# Builds a package, runs its program and looks at what was fetched: consumer NAME SCRATCH PACKAGE PROGRAM EXPECTED
consumer() {
    name=$1 scratch=$2 package=$3 program=$4 expected=$5
    # A cache of its own: what SwiftPM fetches is there or nowhere.
    options="--package-path $package --scratch-path $scratch --cache-path $work/cache"
    options="$options --security-path $work/security --config-path $work/configuration"
    command="swift build" programs=$scratch/debug
    [ -z "$built" ] || { command="swift package" programs=$built; }
    rm -rf "$TOKENKEEP_VAULT"
    # shellcheck disable=SC2086
    if ! $command $options ${built:+show-dependencies} >"$work/log" 2>&1; then
        echo "FAIL $name: $command fails"
        tail -n 40 "$work/log"
        failed=$((failed + 1))
        return
    fi
    # Our own build does not have the tutorial.
    if [ -z "$built" ] || [ -x "$programs/$program" ]; then
        "$programs/$program" >"$work/printed" 2>&1
        check "$name: the program" "$expected" "$work/printed"
    fi
    ls "$scratch/repositories" | sed 's/-[0-9a-f]*$//' | grep -vi '^tokenkeep$' | sort >"$work/fetched"
    echo swift-system >"$work/needed"
    check "$name: the fetched packages" "$work/needed" "$work/fetched"
}

# Puts a dependency in the place of TokenKeep's in a manifest: depend MANIFEST DEPENDENCY
depend() {
    sed "s|\.package([^)]*TokenKeep[^)]*)|.package($2)|" "$1" >"$work/manifest" && mv "$work/manifest" "$1"
}

# SwiftPM refuses a dependency with such flags, but not before it compiles.
swift package --package-path "$root" dump-package >"$work/described" 2>"$work/log"
[ -s "$work/described" ] || mv "$work/log" "$work/flags"
grep -o unsafeFlags "$work/described" >>"$work/flags"
check "the manifest: no flags that SwiftPM refuses in a dependency" /dev/null "$work/flags"

# Not in place: SwiftPM would leave a Package.resolved there. The directory is that of the examples that are packages, so
# that the library is compiled once.
scratch=$root/.build-consumers
[ -z "$built" ] || scratch=$work/by-path-scratch
cp -R "$here" "$work/by-path"
depend "$work/by-path/Package.swift" "name: \"TokenKeep\", path: \"$root\""
consumer "by path" "$scratch" "$work/by-path" Application "$here/expected.txt"

if ! commit=$(git -C "$root" rev-parse HEAD 2>/dev/null); then
    echo "skip by URL: $root is no git repository"
else
    [ -z "$(git -C "$root" status --porcelain)" ] || echo "note: by URL is tested what is committed"
    git clone --quiet --bare "$root" "$work/TokenKeep.git"
    git -C "$work/TokenKeep.git" tag --force 0.1.0 "$commit" >/dev/null

    url="url: \"file://$work/TokenKeep.git\", from: \"0.1.0\""

    cp -R "$here" "$work/by-url"
    depend "$work/by-url/Package.swift" "$url"
    consumer "by URL" "$work/build-url" "$work/by-url" Application "$here/expected.txt"

    article=$root/Sources/TokenKeep/TokenKeep.docc/KeepAToken.md
    tutorial=$work/SignIn
    mkdir -p "$tutorial/Sources/SignIn"
    # The first block in Swift is the manifest, the others are the program; the only block without a language is its output.
    awk -v manifest="$tutorial/Package.swift" -v program="$tutorial/Sources/SignIn/main.swift" -v output="$work/tutorial.txt" '
        /^```swift$/ { file = ++blocks == 1 ? manifest : program; next }
        /^```$/ && file == "" { file = output; next }
        /^```$/ { file = ""; next }
        file != "" { print > file }' "$article"
    depend "$tutorial/Package.swift" "$url"
    # In the same build directory: the modules of TokenKeep are built.
    consumer "by URL, the tutorial" "$work/build-url" "$tutorial" SignIn "$work/tutorial.txt"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# Builds and runs Swift packages that depend on TokenKeep, as packages of their own: by path, and by the URL of a bare
# clone with a tag. Checks what they print, and that SwiftPM fetches nothing for them but what the library needs.
# The package by URL is the tutorial of Sources/TokenKeep/TokenKeep.docc, block by block.
set -u
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

# Builds a package in a directory of its own and runs its program: consumer NAME PACKAGE PROGRAM EXPECTED
consumer() {
    name=$1 package=$2 program=$3 expected=$4
    # A cache of its own: what SwiftPM fetches is there or nowhere.
    options="--package-path $package --scratch-path $work/build --cache-path $work/cache --security-path $work/security"
    rm -rf "$work/build" "$work/cache"
    # shellcheck disable=SC2086
    if ! swift build $options >"$work/log" 2>&1; then
        echo "FAIL $name: the package does not build"
        tail -n 40 "$work/log"
        failed=$((failed + 1))
        return
    fi
    "$work/build/debug/$program" >"$work/printed" 2>&1
    check "$name: the program" "$expected" "$work/printed"
    ls "$work/cache/repositories" | grep -v '\.lock$' | sed 's/-[0-9a-f]*$//' | grep -vi '^tokenkeep$' | sort >"$work/fetched"
    echo swift-system >"$work/needed"
    check "$name: the fetched packages" "$work/needed" "$work/fetched"
}

# Puts TokenKeep's URL into a manifest: with_url LINE'S PATTERN, URL
with_url() { sed "s|$1|.package(url: \"$2\", from: \"0.1.0\")|"; }

# Not in place: SwiftPM would leave a Package.resolved there.
cp -R "$here" "$work/by-path"
sed "s|\"../../..\"|\"$root\"|" "$here/Package.swift" >"$work/by-path/Package.swift"
consumer "by path" "$work/by-path" Application "$here/expected.txt"

if ! commit=$(git -C "$root" rev-parse HEAD 2>/dev/null); then
    echo "skip by URL: $root is no git repository"
else
    [ -z "$(git -C "$root" status --porcelain)" ] || echo "note: by URL is tested what is committed"
    git clone --quiet --bare "$root" "$work/TokenKeep.git"
    git -C "$work/TokenKeep.git" tag --force 0.1.0 "$commit" >/dev/null

    article=$root/Sources/TokenKeep/TokenKeep.docc/KeepAToken.md
    tutorial=$work/SignIn
    mkdir -p "$tutorial/Sources/SignIn"
    # The first block in Swift is the manifest, the others are the program; the only block without a language is its output.
    awk -v manifest="$tutorial/Package.swift" -v program="$tutorial/Sources/SignIn/main.swift" -v output="$work/tutorial.txt" '
        /^```swift$/ { file = ++blocks == 1 ? manifest : program; next }
        /^```$/ && file == "" { file = output; next }
        /^```$/ { file = ""; next }
        file != "" { print > file }' "$article"
    with_url '\.package(url: "[^"]*", from: "0.1.0")' "file://$work/TokenKeep.git" \
        <"$tutorial/Package.swift" >"$tutorial/edited" && mv "$tutorial/edited" "$tutorial/Package.swift"
    consumer "by URL, the tutorial" "$tutorial" SignIn "$work/tutorial.txt"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

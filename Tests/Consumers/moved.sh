#!/bin/sh
# Copies an installed TokenKeep to another place and uses it there: from C, C++, Python and, if the machine has their
# compilers, Go and Rust; and with modules that lie beside it.
#
# Usage: moved.sh PREFIX
set -u
[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: moved.sh PREFIX" >&2; exit 2; }
installed=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
export HOME="$work/home" XDG_CONFIG_HOME="$work/config" TOKENKEEP_VAULT="$work/vault"
mkdir "$HOME"

# Runs a command and compares what it prints, errors too, with a text.
prints() {
    name=$1 expected=$2
    shift 2
    printed=$("$@" 2>&1)
    if [ "$printed" = "$expected" ]; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name: expected '$expected', got '$printed'"
        failed=$((failed + 1))
    fi
}

# Runs a command that builds a consumer; a failure counts.
builds() {
    "$@" >"$work/log" 2>&1 && return
    echo "FAIL $*"
    cat "$work/log"
    failed=$((failed + 1))
}

last_line() { "$@" 2>&1 | tail -1; }
first_line() { "$@" 2>&1 | sed -n 1p; }

prefix="$work/moved away/tokenkeep"
mkdir -p "$(dirname "$prefix")"
cp -a "$installed" "$prefix"
libraries=$(dirname "$(find "$prefix" -name libtokenkeep.so -print -quit)")
export PKG_CONFIG_PATH="$libraries/pkgconfig" LD_LIBRARY_PATH="$libraries"
modules="$libraries/tokenkeep/modules"
program="$prefix/bin/tokenkeep"

echo "# pkg-config"
prints "moduledir follows the file" "$modules" sh -c 'realpath "$(pkg-config --variable=moduledir tokenkeep | sed "s/\\\\//g")"'
prints "--define-variable=prefix" "-I/elsewhere/include -L/elsewhere/${libraries#"$prefix"/} -ltokenkeep" \
    sh -c 'pkg-config --define-variable=prefix=/elsewhere --cflags --libs tokenkeep | sed "s/ *$//"'

prints "--validate" "" pkg-config --validate tokenkeep
prints "--static names what the shared library needs" "-ltokenkeep -lsodium -lm" \
    sh -c 'pkg-config --static --libs-only-l tokenkeep | sed "s/ *$//"'
# The directory's name has a space, which pkg-config writes with a backslash.
prints "--define-prefix" "$modules" sh -c 'realpath "$(pkg-config --define-prefix --variable=moduledir tokenkeep | sed "s/\\\\//g")"'

echo "# the program"
# Nothing that calls go through stays writable, and no library beside the program is taken for one of the system.
prints "full RELRO, no RUNPATH" "BIND_NOW" \
    sh -c 'readelf -d "$1" | grep -oE "BIND_NOW|RUNPATH|RPATH"' - "$program"
prints "it needs C, libsodium, libargon2 and libjansson alone" "" \
    sh -c 'readelf -d "$1" | grep NEEDED | grep -vE "lib(c|m|sodium|argon2|jansson)\.so|ld-linux"' - "$program"

echo "# modules that lie beside it"
cp "$root/examples/plugin/environment.sh" "$modules/environment.sh"
chmod -R go-w "$work"
export EXAMPLE_TOKEN=s3cr3t
stack="any required environment.sh env=EXAMPLE_TOKEN example.com/ann=EXAMPLE_TOKEN"
prints "the program lists them" "$modules/environment.sh" sh -c '"$1" module list | grep -o "/.*environment.sh"' - "$program"
prints "the program finds them" s3cr3t "$program" load --stack "$stack" example.com ann
builds cc -o "$work/named" "$here/c/load_by_stack.c" -I"$prefix/include" -L"$libraries" -ltokenkeep
prints "the library finds them" s3cr3t "$work/named" "$stack"
# The kernel's name for the program is left if /proc is missing, and the path of a shared object.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    without_proc() { unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$@"; }
    prints "without /proc the program finds them" s3cr3t without_proc "$program" load --stack "$stack" example.com ann
    builds cc -shared -fPIC -o "$modules/fixture.so" "$root/Tests/TokenKeepPlugin/Fixtures/fixture.c" -I"$prefix/include"
    prints "without /proc it loads shared objects" "18 passed, 0 failed, 0 skipped" \
        last_line without_proc "$program" module check "$modules/fixture.so"
    rm "$modules/fixture.so"
else
    skipped=$((skipped + 2))
fi
# Not those of the place that it was built for.
rm "$modules/environment.sh"
prints "they are looked for there alone" "tokenkeep: stack_text:1: there is no module \"environment.sh\"" \
    sh -c '"$1" load --stack "$2" example.com ann 2>&1 | head -1' - "$program" "$stack"

echo "# languages"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
# Once more without a space in its path: the linkers' own configurations cannot hold one.
plain="$work/plain"
cp -a "$installed" "$plain"
libraries="$plain/${libraries#"$prefix"/}"
export PKG_CONFIG_PATH="$libraries/pkgconfig" LD_LIBRARY_PATH="$libraries"
# shellcheck disable=SC2046
builds c++ -Wall -Wextra -Werror -o "$work/c++" "$here/c++/consumer.cpp" $(pkg-config --cflags --libs tokenkeep)
prints "C++" s3cr3t "$work/c++"
prints "Python" "loaded: an access token" first_line python3 "$root/examples/python/tokenkeep_example.py"
if command -v go >/dev/null; then
    cp -r "$here/go" "$work/go-consumer"
    cd "$work/go-consumer" && builds env GOCACHE="$work/go-cache" GOFLAGS=-mod=mod go build -o "$work/go" .
    prints "Go" s3cr3t "$work/go"
else
    skipped=$((skipped + 1))
fi
if command -v cargo >/dev/null && cargo --version >/dev/null 2>&1; then
    cp -r "$here/rust" "$work/rust"
    cd "$work/rust" && builds cargo build --quiet --offline
    prints "Rust" s3cr3t "$work/rust/target/debug/consumer"
else
    skipped=$((skipped + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

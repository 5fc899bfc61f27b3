#!/bin/sh
# Builds the examples against an installed TokenKeep, in every way they say they can be built, runs them, and compares
# what they print.
#
# Usage: run.sh PREFIX
set -u
[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: run.sh PREFIX" >&2; exit 2; }
prefix=$(cd "$1" && pwd)
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
export HOME="$work/home" XDG_CONFIG_HOME="$work/config" TOKENKEEP_VAULT="$work/vault"
mkdir "$HOME"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
libraries=$(dirname "$(find "$prefix" -name libtokenkeep.so -print -quit)")
export PKG_CONFIG_PATH="$libraries/pkgconfig"

fail() {
    echo "FAIL $1"
    failed=$((failed + 1))
}

# Runs a command and compares what it prints, errors too, with the standard input.
prints() {
    name=$1
    shift
    cat >"$work/expected"
    if "$@" >"$work/printed" 2>&1 && cmp -s "$work/expected" "$work/printed"; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        fail "$name"
        diff "$work/expected" "$work/printed"
    fi
}

# Runs the C examples that lie in a directory.
run_c() {
    prints "$1 save-load-clear" "$2/save-load-clear" <<'END'
loaded: an access token
cleared
END
    prints "$1 list" "$2/list" <<'END'
example.com (alice), client phone, in vault
example.com (bob), client laptop, in vault
cleared 2
END
    prints "$1 expiry" "$2/expiry" <<'END'
fresh: good
stale: expired, sign in again
END
    prints "$1 compare-and-swap" "$2/compare-and-swap" <<'END'
replaced the version that was read
not replaced: example.com (alice) changed since it was read; load it again and decide anew
END
}

if cmake -S "$examples/c" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
    >"$work/log" 2>&1 && cmake --build "$work/cmake" >>"$work/log" 2>&1; then
    run_c "CMake package:" "$work/cmake"
else
    fail "the examples do not build with the CMake package"
    cat "$work/log"
fi

mkdir "$work/pkg-config"
for source in "$examples"/c/*.c; do
    # shellcheck disable=SC2046
    ${CC:-cc} -Wall -Wextra -Werror "$source" $(pkg-config --cflags --libs tokenkeep) \
        -o "$work/pkg-config/$(basename "$source" .c)" || fail "$source does not build with pkg-config"
done
export LD_LIBRARY_PATH="$libraries" # the prefix is not one that the loader knows
run_c "pkg-config:" "$work/pkg-config"

prints "Python" python3 "$examples/python/tokenkeep_example.py" <<'END'
loaded: an access token
cleared
NOT_FOUND: no item example.com (alice)
INVALID: the service contains a control character
END

# A Swift program needs no installed library of ours: the package itself.
swift_build="swift build --package-path $examples/swift --scratch-path $examples/../.build-example --disable-build-manifest-caching"
if $swift_build >"$work/log" 2>&1; then
    program=$($swift_build --show-bin-path 2>/dev/null)/TokenExample
    prints "Swift" env -u LD_LIBRARY_PATH "$program" <<'END'
loaded 6 bytes from vault
not saved: CONFLICT: example.com (ann) changed since it was read (vault)
cleared
END
else
    fail "the Swift example does not build"
    cat "$work/log"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

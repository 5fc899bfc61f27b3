#!/bin/sh
# Runs the Swift tests under a sanitizer. Usage: sanitize.sh thread|address
set -eu
cd "$(dirname "$0")/.."
sanitizer=$1

# A scratch directory of its own keeps the ordinary builds incremental. Without the last option a second build there fails
# with "unknown build description" (SwiftPM 6.3).
# Left out: tests that measure the process itself (memory, descriptors, children made by fork), which a sanitizer changes.
# Leaks are not reported: LeakSanitizer counts what GLib's threads still hold when the process ends.
export ASAN_OPTIONS="detect_leaks=0"
exec swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build-$sanitizer" \
    --disable-build-manifest-caching --skip LeakTests --skip ProcessTests

#!/bin/sh
# Runs the Swift tests under a sanitizer. Usage: sanitize.sh thread|address
set -eu
cd "$(dirname "$0")/.."
sanitizer=$1

# A scratch directory of its own keeps the ordinary builds incremental. Without the last option a second build there fails
# with "unknown build description" (SwiftPM 6.3).
exec swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build-$sanitizer" --disable-build-manifest-caching

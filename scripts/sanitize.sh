#!/bin/sh
# Runs the Swift tests under a sanitizer, and with ThreadSanitizer the C API's threads and forks too.
# Usage: sanitize.sh thread|address
set -eu
cd "$(dirname "$0")/.."
sanitizer=$1

# A scratch directory of its own keeps the ordinary builds incremental. Without the last option a second build there fails
# with "unknown build description" (SwiftPM 6.3).
options="--sanitize $sanitizer --scratch-path .build-$sanitizer --disable-build-manifest-caching"
# shellcheck disable=SC2086
swift test --disable-xctest $options
[ "$sanitizer" = thread ] || exit 0

# libtokenkeep.so is not instrumented: the archive that it is made of is linked to the C program instead.
# shellcheck disable=SC2086
swift build $options --product TokenKeepC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang -std=c11 -g -fsanitize=thread -Wall -Wextra -Werror -Iinclude -c Tests/ABI/processes_and_threads.c -o "$work/test.o"
swiftc -sanitize=thread "$work/test.o" .build-thread/debug/libTokenKeepC.a -lsodium -o "$work/test"
mkdir -p "$work/config/tokenkeep/stack.d"
echo "any required vault" >"$work/config/tokenkeep/stack.d/default.conf"
# A child of a program with threads may not start any by the sanitizer's own rules, but may here.
env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR HOME="$work" XDG_CONFIG_HOME="$work/config" \
    TOKENKEEP_VAULT="$work/vault" TSAN_OPTIONS="die_after_fork=0 halt_on_error=1" "$work/test"

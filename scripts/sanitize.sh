#!/bin/sh
# Runs the Swift tests under a sanitizer. Usage: sanitize.sh address | thread [threads|rest]
# threads: the tests of targets that start threads, without random histories; rest: all other tests.
set -eu
cd "$(dirname "$0")/.."
sanitizer=$1

# A scratch directory of its own keeps the ordinary builds incremental. Without the last option a second build there fails
# with "unknown build description" (SwiftPM 6.3).
run() {
    timeout 1500 swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build-$sanitizer" \
        --disable-build-manifest-caching "$@"
}

# What a sanitizer looks for is in each history: a part of them is enough.
export TOKENKEEP_MODEL_COUNT=200
# More tests at a time end no earlier, and each is slower than the deadlines in it.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# Tests that end a process of their own, or move the clock, run alone: see Makefile.
own_processes="ProcessTests|LeakTests"
move_the_clock="MovedClockTests"
run_with_clock() {
    timeout 1500 Tests/Support/Clock/run.sh swift test --disable-xctest --sanitize "$sanitizer" \
        --scratch-path ".build-$sanitizer" --disable-build-manifest-caching --no-parallel "$@"
}
with_threads="TokenKeep(Core|Engine|Foundation|SecretService|Session)Tests"
if [ "$sanitizer" != address ]; then
    if [ "${2-threads}" = threads ]; then
        run --filter "$with_threads" --skip "ModelTests|$own_processes|$move_the_clock"
        run --filter "$with_threads.*($own_processes)"
        run_with_clock --filter "$with_threads.*$move_the_clock"
    fi
    if [ "${2-rest}" = rest ]; then
        # A software TPM is slower than its deadline beside other tests. ThreadSanitizer makes vfork() a fork(), after which
        # the error of execve() does not reach the caller.
        tpm="TokenKeepRecordsTests.(TPMTests|TPMHelperTests)"
        run --skip "$with_threads|$own_processes|$move_the_clock|$tpm"
        run --filter "$tpm" --skip aFaultyProgramLocksTheDevicesLevelsAlone
        run --filter "ModelTests"
        run --filter "$own_processes" --skip "$with_threads"
        run_with_clock --filter "$move_the_clock" --skip "$with_threads"
    fi
    exit
fi
# Leaks are looked for in both parts. GLib and libcurl are built without frame pointers: what they allocate is only told
# apart by a slower walk up the stack, so the tests of the module that uses GLib, and of URLSession, which uses libcurl, are
# run with that, and GLib's allocations passed over elsewhere. That walk makes each call so slow that the short deadlines
# of the module's tests hold only if one test runs at a time.
suppressions="$PWD/scripts/leaks.suppressions"
with_glib=$(mktemp)
trap 'rm -f "$with_glib"' EXIT
{ cat "$suppressions"; echo "leak:g_malloc"; } >"$with_glib"
export LSAN_OPTIONS="suppressions=$with_glib:print_suppressions=0" ASAN_OPTIONS="detect_leaks=1"
run --skip "TokenKeepSecretServiceTests|TokenKeepFoundationTests|$own_processes|$move_the_clock"
run --filter TokenKeepCoreTests.GuardedPoolProcessTests
export LSAN_OPTIONS="suppressions=$suppressions:print_suppressions=0" ASAN_OPTIONS="detect_leaks=1:fast_unwind_on_malloc=0"
run --filter TokenKeepFoundationTests --skip "$move_the_clock"
run --no-parallel --filter TokenKeepSecretServiceTests --skip "$own_processes|$move_the_clock"
run --filter "TokenKeepSecretServiceTests.($own_processes)"
run_with_clock --filter "$move_the_clock"

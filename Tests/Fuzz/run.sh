#!/bin/sh
# Fuzzes each reader of a session's bytes with libFuzzer and AddressSanitizer. Usage: run.sh SECONDS [TARGET...]
#
# Inputs of Corpus/TARGET are where it begins; build/fuzz/TARGET keeps what was found. A crash is in build/fuzz/TARGET-crash-*.
# run.sh --minimize writes the found inputs that reach something new, shorter than 600 bytes, into Corpus.
set -eu
cd "$(dirname "$0")/../.."
build=.build-fuzz

# SwiftPM fails to plan this build a second time.
rm -rf "$build"/*.yaml "$build"/build.db "$build"/*/release/*.json
TOKENKEEP_FUZZ=1 swift build -c release --build-path "$build" -Xswiftc -sanitize=fuzzer,address \
    -Xcc -fsanitize=fuzzer-no-link,address --product tokenkeep-fuzz
program=$build/release/tokenkeep-fuzz
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
[ $# != 0 ] || set -- record note response answer claims date
failed=0
for target in "$@"; do
    corpus=Tests/Fuzz/Corpus/$target found=build/fuzz/$target
    mkdir -p "$found"
    export TOKENKEEP_FUZZ_TARGET="$target"
    if [ "$seconds" = --minimize ]; then
        "$program" -merge=1 -max_len=600 "$corpus" "$found" 2>&1 | tail -1
        continue
    fi
    if "$program" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$found-crash-" "$found" "$corpus" >"$found.log" 2>&1; then
        echo "ok   $target: $(sed -n 's/^stat::number_of_executed_units: //p' "$found.log") inputs, $(ls "$found" | wc -l) kept"
    else
        echo "FAIL $target"
        tail -30 "$found.log"
        failed=$((failed + 1))
    fi
done
echo "$failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# Fuzzes each reader of the bytes of sessions, sign-ins, responses and registries with libFuzzer and AddressSanitizer. Usage: run.sh SECONDS|--keep [TARGET...]
#
# Inputs of Corpus/TARGET are where it begins; build/fuzz/TARGET keeps what was found. A crash is in build/fuzz/TARGET-crash-*.
# run.sh --keep copies those of the found inputs that reach new code, up to 400 bytes, into Corpus.
set -eu
cd "$(dirname "$0")/../.."
build=.build-fuzz

make_program() {
    TOKENKEEP_FUZZ=1 swift build -c release --build-path "$build" -Xswiftc -sanitize=fuzzer,address \
        -Xcc -fsanitize=fuzzer-no-link,address --product tokenkeep-fuzz
}
# SwiftPM 6.3 cannot plan this build a second time ("unknown build description").
make_program || { rm -rf "$build" && make_program; }
program=$build/release/tokenkeep-fuzz
seconds=${1:?usage: run.sh SECONDS|--keep [TARGET...]}
shift
[ $# != 0 ] || set -- record note response answer claims date json provider metadata redirect device request limit page event value invitation \
    certificate fleet
failed=0
for target in "$@"; do
    corpus=Tests/Fuzz/Corpus/$target found=build/fuzz/$target
    mkdir -p "$found"
    export TOKENKEEP_FUZZ_TARGET="$target"
    if [ "$seconds" = --keep ]; then
        "$program" -merge=1 -use_counters=0 -max_len=400 "$corpus" "$found" 2>&1 | tail -1
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

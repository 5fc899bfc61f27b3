#!/bin/sh
# scripts/goals.py on a Makefile of its own: failures, skips and times, and what does not begin after a build that failed.
set -u
goals=$(cd "$(dirname "$0")/../.." && pwd)/scripts/goals.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKELEVEL MAKEFLAGS MFLAGS # `make test-layout` sets them, and make then names its level
failed=0
cat >"$work/Makefile" <<'END'
good:
	@echo "ok   slow (7.5 s)"; printf '\033[92m✔\033[0m Test quick() passed after 2.5 seconds.\n'
	@echo "✔ Test run with 2 tests in 1 suite passed after 90.0 seconds."
skips:
	@echo "skipped tpm: swtpm is not installed"; echo "3 passed, 0 failed, 0 skipped"
bad:
	@echo "FAIL third"; exit 1
stage:
	@exit 1
END

# expect CODE CI STEP…: the exit code, and the lines of the end on standard input.
expect() {
    wanted=$1
    export CI="$2"
    shift 2
    cat >"$work/expected"
    (cd "$work" && "$goals" "$@") >"$work/printed" 2>&1
    code=$?
    sed -n '/^make \|^The slowest\|^Skipped/,$p' "$work/printed" | sed -E 's/^ +[0-9.]+ s +[0-9.]+ s  (ok|FAILED)/\1/; s/^(Goals).*/\1/; /^$/d; /^make(\[[0-9]+\])?: /d' \
        >"$work/got"
    [ $code -eq "$wanted" ] && diff "$work/expected" "$work/got" || { echo "FAIL goals.py $*: exit code $code"; failed=1; }
}

expect 0 "" good/skips <<'END'
The slowest of 2 tests:
    7.5 s  good: slow
    2.5 s  good: quick()
Skipped:
make skips: skipped tpm: swtpm is not installed
Goals
ok      make good
ok      make skips
2 passed, 0 failed
END
expect 1 true skips <<'END'
Skipped:
make skips: skipped tpm: swtpm is not installed
Goals
FAILED  make skips
make skips:
skipped tpm: swtpm is not installed
… its last lines:
skipped tpm: swtpm is not installed
3 passed, 0 failed, 0 skipped
0 passed, 1 failed
END
expect 1 "" bad good stage good <<'END'
The slowest of 2 tests:
    7.5 s  good: slow
    2.5 s  good: quick()
Goals
FAILED  make bad
ok      make good
FAILED  make stage
make bad:
FAIL third
… its last lines:
FAIL third
make stage:
… its last lines:
1 passed, 2 failed
END
[ $failed -ne 0 ] || echo "goals.py: 3 runs, 0 faults"
exit $failed

#!/bin/sh
# Runs a command whose programs, those under test, live by a clock that is four times as slow as the real one, and that tests
# set forward: a limit of 5 s lasts 20 s, so that a stalled machine meets it.
#
# Usage: run.sh COMMAND…     (environment: TOKENKEEP_SLOWNESS, 4 if it is not set; 1 is the real pace)
# The command finds test-clock, which moves the clock, on its PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
built=$here/../../../build/test-clock
mkdir -p "$built"
compile() { # compile FILE SOURCE… -- OPTION…: unless the file is newer than all sources
    file=$built/$1
    for source in "$here"/*.c "$here/include/test_clock.h"; do
        if [ ! -e "$file" ] || [ "$source" -nt "$file" ]; then
            shift
            # To a name of its own, then renamed: another run may use the file.
            (cd "$here" && "${CC:-gcc}" -std=gnu11 -Wall -Wextra -Werror -O2 "$@" -o "$file.$$" -ldl -pthread)
            mv "$file.$$" "$file"
            return
        fi
    done
}
compile preload.so preload.c page.c -shared -fPIC
compile test-clock tool.c page.c
built=$(cd "$built" && pwd)
PATH=$built:$PATH exec "$built/test-clock" run "${TOKENKEEP_SLOWNESS:-4}" "$@"

#!/bin/sh
# A shared object that faults ends the program: the documents say so, and nothing hides it.
#
# Usage: module-crash.sh PROGRAM
"$1" crash 2>/dev/null
if [ $? -eq $((128 + 11)) ]; then echo "ok   its program ends by the same signal"; else
    echo "FAIL the program outlived its module's fault"
    exit 1
fi

# Counts what passes. To be read by `.`.
passed=0 failed=0

ok() {
    echo "ok   $1"
    passed=$((passed + 1))
}

fail() {
    echo "FAIL $1"
    failed=$((failed + 1))
}

# is NAME EXPECTED FOUND
is() {
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: expected '$2', found '$3'"; fi
}

# at_most NAME LIMIT FOUND
at_most() {
    if [ "$3" -le "$2" ]; then ok "$1: $3 bytes, at most $2"; else fail "$1: $3 bytes, at most $2 are allowed"; fi
}

# Shared by run.sh and packages.sh. Sourced with $prefix and $here.
examples=$(cd "$here/../../examples" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
export HOME="$work/home" XDG_CONFIG_HOME="$work/config" TOKENKEEP_VAULT="$work/vault"
mkdir "$HOME"
# The vault alone, whatever the machine has.
mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"

fail() {
    echo "FAIL $1"
    failed=$((failed + 1))
}

# Runs a command and compares what it prints, errors too, with the standard input.
prints() {
    name=$1
    shift
    cat >"$work/expected"
    if "$@" >"$work/printed" 2>&1 && cmp -s "$work/expected" "$work/printed"; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        fail "$name"
        diff "$work/expected" "$work/printed"
    fi
}

# The first block of README.md in the language.
readme_block() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$examples/../README.md" | sed '/^```/d'
}

# Starts a server of the examples: api_server.py, which refuses the first token and limits guests, or another one.
start_server() {
    mkfifo "$work/port"
    python3 "$here/${1-api_server.py}" >"$work/port" &
    server=$!
    read -r port <"$work/port"
    rm "$work/port"
}

# Shared by the scenarios of doctor: the program with few tools, and with a root of the system of the scenario's own.
mkdir -p bin root
# borrow TOOL: a script that runs a tool of the system. Never a link: a scenario that writes a tool of its own to the same path
# would write to the system's.
borrow() {
    rm -f "bin/$1"
    printf '#!/bin/sh\nexec %s "$@"\n' "$(PATH=/usr/bin:/bin command -v "$1")" >"bin/$1"
    chmod 755 "bin/$1"
}
# own TOOL TEXT: a tool of the scenario's own.
own() {
    rm -f "bin/$1"
    printf "$2" >"bin/$1"
    chmod 755 "bin/$1"
}
for tool in git sh env; do borrow $tool; done
export GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1
mkfifo "$WORK/hung" 2>/dev/null
# hang TOOL...: tools that do not end. They tell doctor_hung when they run.
hang() {
    local tool
    for tool; do own "$tool" "#!/bin/sh\necho >$WORK/hung\nexec /bin/sleep infinity\n"; done
}

# doctor_hung COUNT COMMAND...: runs doctor. Once so many others hang at a time, each of which writes a line into the pipe hung, the
# limits of their checks pass.
doctor_hung() {
    local count=$1
    shift
    exec 4<>"$WORK/hung"
    (while [ $((count--)) -gt 0 ]; do read -r _ <&4; done && test-clock advance 4) &
    local passing=$!
    "$@"
    wait "$passing"
    exec 4<&-
}

# doctor [CHECK...]: what doctor says in these checks, all without names; and its exit code.
doctor() {
    local code
    printf '$ tokenkeep doctor%s\n' "${1:+ ($*)}"
    PATH="$WORK/bin" "$TOKENKEEP" doctor --system-root "$WORK/root" >"$WORK/tmp/out" 2>"$WORK/tmp/err"
    code=$?
    awk -v wanted=" $* " '/^(ok|note|problem) / { name = $2; sub(":", "", name) } wanted == "  " || index(wanted, " " name " ")' "$WORK/tmp/out" |
        sed -E 's/[0-9]+ of [0-9]+ (keys|bytes)/N \1/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/; s/pid [0-9]+/pid N/g; s|keyring/dbus-[A-Za-z0-9]+,guid=[0-9a-f]+|BUS|; s|tmp/tmp[a-z0-9_]{8}|DIRECTORY|; s/kill [0-9]+/kill N/'
    sed 's/^/! /' "$WORK/tmp/err"
    echo "[exit $code]"
}

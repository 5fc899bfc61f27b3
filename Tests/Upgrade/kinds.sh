# The kinds of vaults: make_KIND makes one, read_KIND prints what a program finds in it. To be read by `.`.
kinds="plain password recovery levels pending rotation damaged export session stack"

make_plain() {
    printf s3cr3t | "$PROGRAM" save example.com ann --label "Ann's token" --expires 2040-01-01 --stack "$alone"
    head -c 3000 /dev/zero | tr '\0' x | "$PROGRAM" save example.com "" --stack "$alone"
    printf other | "$PROGRAM" save example.com ann --namespace other --stack "$alone"
    printf gone | "$PROGRAM" save example.com gone --stack "$alone"
    "$PROGRAM" clear example.com gone --stack "$alone"
}
read_plain() {
    run list --stack "$alone"
    run load example.com ann --stack "$alone"
    run load example.com ann --namespace other --stack "$alone"
    run load example.com gone --stack "$alone"
    "$PROGRAM" load example.com "" --stack "$alone" | wc -c
    printf new | run save example.com ann --stack "$alone"
    run load example.com ann --stack "$alone"
}

make_password() {
    printf s3cr3t | "$PROGRAM" save example.com ann --stack "$alone"
    echo "the password" | "$PROGRAM" password set --stdin
}
read_password() {
    run load example.com ann --stack "$alone"
    echo wrong | run unlock --stdin
    echo "the password" | run unlock --stdin
    run load example.com ann --stack "$alone"
    printf 'the password\nanother one\n' | run password change --stdin
    forget
    echo "another one" | run unlock --stdin
    run load example.com ann --stack "$alone"
}

make_recovery() {
    make_password
    echo "the password" | "$PROGRAM" recovery create --stdin >code
}
read_recovery() {
    { cat code; echo "a new one"; } | run recovery use --stdin
    forget
    echo "a new one" | run unlock --stdin
    run load example.com ann --stack "$alone"
}

make_levels() {
    echo "the password" | "$PROGRAM" password set --stdin
    printf first | "$PROGRAM" save example.com first --level after-first-unlock --stack "$alone"
    printf unlocked | "$PROGRAM" save example.com unlocked --level when-unlocked --stack "$alone"
}
read_levels() {
    run load example.com unlocked --stack "$alone"
    echo "the password" | run unlock --stdin
    run load example.com first --stack "$alone"
    run load example.com unlocked --stack "$alone"
    run list --stack "$alone"
}

make_pending() {
    use_service
    printf old | "$PROGRAM" save example.com gone --stack "$both" 2>/dev/null
    printf s3cr3t | "$PROGRAM" save example.com ann --stack "$both" 2>/dev/null
    "$PROGRAM" clear example.com gone --stack "$both" 2>/dev/null
}
read_pending() {
    run load example.com ann --stack "$both"
    run load example.com gone --stack "$both"
    run sync --stack "$both"
    run forget secret-service --yes --stack "$both"
    run load example.com ann --stack "$both"
}

# The change of all keys ends in the middle, as by a loss of power.
make_rotation() {
    make_password
    printf 'the password\nanother one\n' | strace -f -qq -o /dev/null -e trace=syncfs -e inject=syncfs:signal=KILL \
        "$PROGRAM" password change --compromised --stdin 2>/dev/null
    true
}
read_rotation() {
    echo "the password" | run unlock --stdin
    run load example.com ann --stack "$alone"
    printf 'the password\nanother one\n' | run password change --compromised --stdin
    run load example.com ann --stack "$alone"
}

make_damaged() {
    make_plain
    damaged=$(find vault -type f -path '*records*' -size -4k | sort | head -n 1)
    printf x | dd of="$damaged" bs=1 seek=40 conv=notrunc status=none
}
read_damaged() {
    run list --stack "$alone" | sed -E 's/[0-9a-f]{16,}/ID/g' | sort
    run load example.com ann --namespace other --stack "$alone" | sed -E 's/[0-9a-f]{16,}/ID/g'
    find vault -type f -path '*records*' | wc -l
}

make_export() {
    make_plain
    echo "a passphrase" | "$PROGRAM" export items --stdin --stack "$alone"
    rm -rf vault
}
read_export() {
    echo "a passphrase" | run import items --stdin --stack "$alone"
    run list --stack "$alone"
    run load example.com ann --stack "$alone"
}

make_session() {
    echo '{"access_token":"first","refresh_token":"again","token_type":"Bearer","expires_in":3153600000}' |
        "$PROGRAM" session begin example.com ann --stack "$alone"
}
read_session() {
    run session token example.com ann --stack "$alone"
    run session list --stack "$alone"
    run session logout example.com ann --stack "$alone"
}

make_stack() {
    mkdir -p config/tokenkeep/stack.d
    printf '# One place.\nany   required   vault\n' >config/tokenkeep/stack.d/default.conf
    printf s3cr3t | "$PROGRAM" save example.com ann
}
read_stack() {
    run stack show
    run load example.com ann
}

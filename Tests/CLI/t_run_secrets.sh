# needs: strace
# Secrets for a command: by variables and descriptors.
printf 'secret of ann' | run save example.com ann
printf 'odd' | run save 'a/b@c:%?#' 'ä ö'
printf 'without an account' | run save example.com ''
printf 'apart' | run save example.com ann --namespace other
printf 'a\0b' | run save binary.example ann
printf 'late' | run save expired.example ann --expires 2020-01-01T00:00:00Z

title "a variable"
run run --env TOKEN=tokenkeep://example.com/ann --env EMPTY=tokenkeep://example.com/ -- sh -c 'echo "[$TOKEN] [$EMPTY]"'
run run --env TOKEN=tokenkeep://a%2Fb%40c:%25%3f%23/%C3%A4%20%C3%B6 -- sh -c 'echo "[$TOKEN]"'
run run --env TOKEN=tokenkeep://other@example.com/ann -- sh -c 'echo "[$TOKEN]"'
run run --namespace other --env TOKEN=tokenkeep://example.com/ann --env EMPTY=tokenkeep://@example.com/ann -- sh -c 'echo "[$TOKEN] [$EMPTY]"'

title "the environment"
(export TOKEN=tokenkeep://example.com/ann OTHER="see tokenkeep://example.com/ann"
    run run -- sh -c 'echo "[$TOKEN] [$OTHER]"'
    run run --env TOKEN=tokenkeep://example.com/ -- sh -c 'echo "[$TOKEN]"')

title "a file"
printf '# variables\n\nTOKEN=tokenkeep://example.com/ann\r\nQUOTED="tokenkeep://example.com/"\nPLAIN=a b = c\nSINGLE='"'x'"'\nNONE=\n' >variables
printf 'PLAIN=of the second file\n' >more
run run --env-file variables --env-file more -- sh -c 'echo "[$TOKEN] [$QUOTED] [$PLAIN] [$SINGLE] [$NONE]"'
run run --env-file variables --env TOKEN=tokenkeep://other@example.com/ann -- sh -c 'echo "[$TOKEN]"'
printf '\357\273\277  A=a\nexport B=b\n\tC = c d\nexport\tD\t=\t"e"\nE= f\nexport=g\n \t\n  # h\n' >liberal
run run --env-file liberal --env TOKEN=tokenkeep://example.com/ann -- sh -c 'echo "[$A] [$B] [$C] [$D] [$E] [$export]"'
printf 'A B=1\n' >bad
run run --env-file bad -- true
printf 'A=1\nsesame\n' >bad
run run --env-file bad --env TOKEN=tokenkeep://example.com/ann -- true
printf 'A=tokenkeep://sesame\n' >bad
run run --env-file bad -- true
printf 'A=\377\n' >bad
run run --env-file bad -- true
run run --env-file none -- true
head -c 1100000 /dev/zero | tr '\0' x >long
run run --env-file long -- true

title "a descriptor: only the command can read it, and no environment has the secret"
run run --fd TOKEN=tokenkeep://example.com/ann --fd BINARY=tokenkeep://binary.example/ann -- sh -c '
    case $TOKEN in /dev/fd/[0-9]*) ;; *) echo "no path: $TOKEN" ;; esac
    cat "$TOKEN" && echo && cat "$TOKEN" && echo && od -An -c "$BINARY"
    grep -c "secret of ann" /proc/self/environ; stat -Lc "%a %s" "$TOKEN"
    (echo more >"$TOKEN") 2>/dev/null || echo "sealed"'

title "the exit code and the signals are those of the command"
run run --env TOKEN=tokenkeep://example.com/ann -- sh -c 'exit 23'
("$TOKENKEEP" run --env TOKEN=tokenkeep://example.com/ann -- sh -c 'kill -9 $$'; echo "[exit $?]") 2>/dev/null
run run --env TOKEN=tokenkeep://example.com/ann -- no-such-command
"$TOKENKEEP" run --env TOKEN=tokenkeep://example.com/ann -- sh -c 'echo $PPID' >parent
[ "$(cat parent)" = $$ ] && echo "exec: no process between"

title "if one secret fails, nothing starts"
run run --env A=tokenkeep://example.com/ann --env B=tokenkeep://example.com/nobody -- touch started
run run --fd A=tokenkeep://expired.example/ann -- touch started
run run --env A=tokenkeep://binary.example/ann -- touch started
refused memfd_create:error=ENOSYS "" run --fd A=tokenkeep://example.com/ann -- touch started
ls started 2>/dev/null

title "what is no reference"
for reference in example.com/ann tokenkeep://example.com tokenkeep:///ann tokenkeep://a/b/c tokenkeep://a@b@c/d tokenkeep://a/%zz \
    tokenkeep://a/%ff tokenkeep://a/b%0A tokenkeep://a/b?c 'tokenkeep://a/b#c' tokenkeep://a/%; do
    run run --env "A=$reference" -- true
done
run run --env sesame -- true
run run --env 1A=tokenkeep://example.com/ann -- true
run run --fd A=tokenkeep://example.com/ann --env A=tokenkeep://example.com/ann -- true
(export TOKEN=tokenkeep://sesame; run run -- true)

title "a password for a vault that has none"
echo horse >"$WORK/password" && chmod 600 "$WORK/password"
(export TOKENKEEP_PASSWORD_FILE=$WORK/password
    run run --env TOKEN=tokenkeep://example.com/ann -- sh -c 'echo "[$TOKEN] ${TOKENKEEP_PASSWORD_FILE-unset}"')
run run --password-file "$WORK/password" --env TOKEN=tokenkeep://example.com/ann -- true

title "a vault that is locked"
run password set --password-file "$WORK/password"
run lock
run run --env TOKEN=tokenkeep://example.com/ann -- touch started
run run --password-file "$WORK/password" --env TOKEN=tokenkeep://example.com/ann --env OTHER=tokenkeep://other@example.com/ann -- \
    sh -c 'echo "[$TOKEN] [$OTHER] [$("$0" load example.com "")]"' "$TOKENKEEP"
run load example.com ann

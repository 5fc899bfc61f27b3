# Says whether the vault is locked still.
state() { "$TOKENKEEP" status | grep -o 'protected by a password.*'; }
# Answers the question of an unlock on a terminal.
typed() { on_terminal 'expect:password of the vault: ' "$@" -- "$TOKENKEEP" unlock; state; }
long=$(printf 'x%.0s' {1..5000})

printf secret | run save example.com ann
run password set --stdin <<<one
run lock

title "standard input: nothing, an empty line, two lines, no newline at the end of a wrong one"
run unlock --stdin </dev/null
run unlock --stdin <<<''
printf 'one\none\n' | run unlock --stdin
printf '\none\n' | run unlock --stdin
printf 'one\n\n' | run unlock --stdin
printf wrong | run unlock --stdin
state

title "a NUL does not end the password; a carriage return before the line's end is no part of it"
printf 'one\0\n' | run unlock --stdin
printf 'one\0two\n' | run unlock --stdin
printf '\0one\n' | run unlock --stdin
printf 'one\r\n' | run unlock --stdin
state
"$TOKENKEEP" lock

title "too long, at its limit, beyond every limit"
printf '%s\n' "$long" | run unlock --stdin
printf '%s\n' "${long:0:4097}" | run unlock --stdin
printf '%s\n' "${long:0:4096}" | run unlock --stdin
head -c 2000000 /dev/zero | run unlock --stdin
state

title "closed, a folder, one that is not for reading; a file that the program opens does not stand in"
run unlock --stdin <&-
run unlock --stdin </
run unlock --stdin 0>/dev/null
(exec <&- >&- 2>&-; "$TOKENKEEP" unlock --stdin; echo "[exit $?]" >"$WORK/closed")
cat "$WORK/closed"
state

title "the same for a change"
run password change --stdin <<<one
printf 'one\n\n' | run password change --stdin
printf 'one\n%s\n' "$long" | run password change --stdin
run password change --stdin <&-
run password remove --stdin </dev/null
run recovery use --stdin <<<''
state

title "the right one without a newline"
printf one | run unlock --stdin
state
run load example.com ann
run lock

title "a terminal: wrong, empty, ended, a NUL, an escape, too long, two lines"
typed echo 'send:wrong\n'
typed 'send:\n'
typed 'send:\x04'
typed 'send:one\x00\n'
typed 'send:one\x1b[A\n'
typed "send:$long"'\n'
typed 'send:one\none\n'
typed 'send:one' 'signal:HUP'

title "a terminal that is not there"
setsid -w "$TOKENKEEP" unlock </dev/null 2>&1; echo "[exit $?]"
setsid -w "$TOKENKEEP" unlock 2>&1 <&-; echo "[exit $?]"
# The line is for the terminal alone: what else stands on standard input is not taken for it.
setsid -w "$TOKENKEEP" unlock 2>&1 <<<one; echo "[exit $?]"
state

title "the right one, with its end instead of a newline"
typed 'send:one\x04'
run load example.com ann
run lock

title "a vault without a password: there is nothing to ask for"
export TOKENKEEP_VAULT="$WORK/open"
printf one | run save example.com ann
setsid -w "$TOKENKEEP" unlock </dev/null 2>&1; echo "[exit $?]"
setsid -w "$TOKENKEEP" run -- true </dev/null 2>&1; echo "[exit $?]"
on_terminal -- "$TOKENKEEP" unlock

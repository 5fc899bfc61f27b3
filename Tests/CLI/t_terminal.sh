title "asked without echo; a newline on the terminal alone"
on_terminal 'expect:secret for example.com (ann): ' echo 'send:s3cr3t\n' -- "$TOKENKEEP" save example.com ann
run load example.com ann
on_terminal -- "$TOKENKEEP" load example.com ann

title "the keys that edit a line"
on_terminal 'expect:: ' 'send:wrong\x15to\xc3\xa4\x7f\x7foken\r' -- "$TOKENKEEP" save example.com edited
run load example.com edited

title "a line longer than a terminal's own 4095 bytes"
long=$(printf 'x%.0s' {1..9000})
on_terminal 'expect:: ' "send:$long"'\n' -- "$TOKENKEEP" save example.com long
"$TOKENKEEP" load example.com long | wc -c

title "end of input"
on_terminal 'expect:: ' 'send:\x04' -- "$TOKENKEEP" save example.com none
on_terminal 'expect:: ' 'send:all of it\x04' -- "$TOKENKEEP" save example.com ended
run load example.com ended

title "nothing, control characters, several lines"
on_terminal 'expect:: ' 'send:\n' -- "$TOKENKEEP" save example.com none
on_terminal 'expect:: ' 'send:a\x1b[Ab\n' -- "$TOKENKEEP" save example.com none
on_terminal 'expect:: ' 'send:one\ntwo\n' -- "$TOKENKEEP" save example.com none
run load example.com none

title "signals restore the terminal"
on_terminal 'expect:: ' echo 'send:half\x03' -- "$TOKENKEEP" save example.com none
on_terminal 'expect:: ' 'signal:TERM' -- "$TOKENKEEP" save example.com none
on_terminal 'expect:: ' 'signal:HUP' -- "$TOKENKEEP" save example.com none
for signal in USR1 USR2 ALRM ABRT QUIT VTALRM PROF XCPU XFSZ RTMIN; do
    on_terminal 'expect:: ' echo "signal:$signal" -- bash -c 'ulimit -c 0; exec "$0" "$@"' "$TOKENKEEP" save example.com none
done
on_terminal 'expect:: ' 'send:\x1c' -- bash -c 'ulimit -c 0; exec "$0" "$@"' "$TOKENKEEP" save example.com none
run load example.com none

title "stopped and continued: asked again"
on_terminal 'expect:: ' echo 'send:half\x1a' 'expect:again' 'expect:secret' 'send:whole\n' \
    -- bash -c 'set -m; "$0" "$@"; echo stopped; stty -a | grep -o " -\?echo "; echo again; fg >/dev/null' \
    "$TOKENKEEP" save example.com stopped
run load example.com stopped

title "what is wrong is said before the question"
on_terminal -- "$TOKENKEEP" save example.com none --level always
on_terminal -- "$TOKENKEEP" save example.com none --attribute wrong
on_terminal -- "$TOKENKEEP" save example.com none --stack 'any vault'

title "the name in the question is escaped"
on_terminal 'expect:: ' 'send:\x04' -- "$TOKENKEEP" save $'ex\u202emoc' ann

title "a table fits the terminal; a pipe gets it whole"
printf x | "$TOKENKEEP" save a-service-with-a-long-name.example.com somebody@example.com --namespace wide --label 'A label of many words' \
    --expires 2999-12-31T18:00:00Z
printf x | "$TOKENKEEP" save short.example ann --namespace wide --level when-unlocked
for width in 200 80 40 10; do
    on_terminal -- bash -c 'stty cols "$1"; "$0" list --namespace wide' "$TOKENKEEP" "$width"
done
run list --namespace wide

title "progress is drawn ten times a second at most"
export TOKENKEEP_VAULT="$WORK/many"
for number in {1..100}; do printf x | "$TOKENKEEP" save example.com "$number"; done
"$TOKENKEEP" export "$WORK/backup" --stdin <<<passphrase
uptime_tenths() { awk '{ print int($1 * 10) }' /proc/uptime; }
start=$(uptime_tenths)
export TOKENKEEP_VAULT="$WORK/imported"
on_terminal -- bash -c '"$0" import "$1" --stdin <<<passphrase' "$TOKENKEEP" "$WORK/backup" >screen
drawn=$(grep -o '\[[#.]*\]' screen | wc -l)
[ "$drawn" -le $(($(uptime_tenths) - start + 2)) ] && echo "not too often" || echo "$drawn times"
grep -o 'imported .*' screen

title "a file or a pipe gets no escape"
for command in '' --help 'list --namespace wide' status protection 'session list' 'provider list' 'stack show'; do
    TERM=xterm-256color "$TOKENKEEP" $command 2>&1 | grep -c $'[\e\r\b]' | sed "s/^0\$/none: $command/"
done

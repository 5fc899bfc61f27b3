title "no command, no such command, no such option"
run
run bogus
run bogus --help
run --bogus
run help bogus
run help save bogus
run help --bogus
run save --bogus
run load --jsno a b
run list --jsno
run load example.com ann --hint
run status surplus

title "arguments that are missing or too many"
run save
run save example.com
run load
run load example.com
run load example.com ann bob
run clear
run clear example.com
run clear example.com ann --all
run clear example.com ann bob
run clear example.com --all --if-version 1
run list example.com ann

title "options without a value"
run load example.com ann --stack
run load example.com ann --timeout
run list --json=yes

title "the secret is never an argument, and is not repeated"
printf other | run save example.com ann hunter2-argument
printf other | run save example.com ann -- -hunter2-argument
printf other | run save example.com ann -hunter2-argument
printf other | run save example.com ann -xunter2-argument
printf other | run save example.com ann --Hunter2_Argument
printf other | run save example.com ann --if-absent=hunter2-argument
printf other | run save example.com ann --attribute hunter2-argument
run list

title "what is no UTF-8"
run load $'ex\xffample' ann
run load example.com ann --namespace $'\xc3'

title "names outside their limits"
long=$(printf 'x%.0s' {1..256})
printf x | "$TOKENKEEP" save "$long" ann 2>&1
printf x | "$TOKENKEEP" save example.com "$long" 2>&1
"$TOKENKEEP" load example.com "$long" 2>&1
"$TOKENKEEP" list --namespace "${long:0:65}" 2>&1
printf x | run save '' ann
run load $'line\nbreak' ann
run clear $'ex\u0085' ann
run list ''

title "standard input that is closed or cannot be read"
"$TOKENKEEP" save example.com ann <&- 2>&1
echo "[exit $?]"
"$TOKENKEEP" save example.com ann </ 2>&1
echo "[exit $?]"

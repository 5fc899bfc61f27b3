mkdir -p config/tokenkeep/stack.d
cd config/tokenkeep/stack.d || exit
umask 077
check() { run stack check "$1"; }

title "the built-in stack, where no file says otherwise"
run stack show
"$TOKENKEEP" stack show >shown.conf && check shown.conf

title "the user's file"
cat >default.conf <<'END'
# The memory first, for what was saved with this program.
load   sufficient  memory
-any   optional    nowhere     # not on every machine
include common
END
cat >common.conf <<'END'
clear,
END
run stack show
run load example.com ann
cat >common.conf <<'END'
any [ok=done locked=die \
     default=bad]  vault
list substack audit
END
echo 'list [ok=ignore unavailable=reset default=1] secret-service [timeout=5s] # first' >audit.conf
echo 'any requisite memory' >>audit.conf
run stack show
run stack show common
check default.conf
printf secret | run save example.com ann
run load example.com ann

title "explained"
run load example.com ann --explain --stack 'any sufficient memory
any required vault'
run load example.com bob --explain --stack 'any required memory
any required vault'
run clear example.com ann --explain --stack 'clear optional memory
any required vault'
printf hidden | run save example.com ann --explain --stack default
run list --explain --stack 'any required vault'
run list example.com --explain --stack 'any [ok=reset] vault'
export TOKENKEEP_DEBUG=1
run load example.com ann
run load example.com ann --explain
TOKENKEEP_DEBUG=0 run load example.com ann
unset TOKENKEEP_DEBUG

title "what is wrong is named"
wrong() {
    printf '%b' "$1" >wrong.conf
    check wrong.conf
}
wrong ''
wrong 'any required vault\nany vault\n'
wrong 'any required vault\nall required vault\n'
wrong 'any required'
wrong 'any [ok=done default=sometimes] vault'
wrong 'any [gone=ok] vault'
wrong 'any [conflict=ignore] vault'
wrong 'any [ok=bad] vault'
wrong 'any [ok=done vault'
wrong 'any [not_found=1] vault'
wrong 'any required vault \\'
wrong 'any required nowhere'
wrong 'any required secret-service timeout=soon'
wrong 'any required vault\ninclude nowhere'
wrong 'any required vault\ninclude ..'
wrong '\xff'
echo 'include circle' >round.conf
echo 'any substack round' >circle.conf
check round.conf
run stack show round
check nowhere.conf
check .
echo 'any required vault' >open.conf
chmod 666 open.conf
check open.conf
run load example.com ann --stack open
run stack show nowhere
run stack show ../open
run stack
run stack check
run stack list

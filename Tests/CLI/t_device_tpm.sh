# needs: root tpm
# Two software TPMs are two machines. Each begins with a kernel that has no key of the vault.
. "$HERE/machines.sh"
export TOKENKEEP_TCTI
machine() {
    title "$2"
    forget
    TOKENKEEP_TCTI="swtpm:path=$WORK/tpm-$1/tpm"
}

start_tpm a
machine a "a vault that is bound to the TPM"
bind_vault tpm2

title "the same TPM by root's helper"
helper=$(dirname "$program")/../libexec/tokenkeep/tokenkeep-tpm2
socket=$WORK/helper/tpm2
mkdir -m 755 "$WORK/helper"
install -m 755 "$helper" "$WORK/helper/tokenkeep-tpm2"
"$WORK/helper/tokenkeep-tpm2" --socket "$socket" --tcti "$TOKENKEEP_TCTI" 2>"$WORK/helper/log" &
helper=$!
tools+=("$helper")
until_exists "$socket"
unset TOKENKEEP_TCTI
export TOKENKEEP_TPM2_SOCKET=$socket
run lock
run unlock --stdin <<<horse
run load example.com five
run device show

another_user
sed 's/uid [0-9]*/uid UID/' "$WORK/helper/log"

title "the helper is killed in mid-request; the next request works"
run lock
stop_process "$swtpm"
run unlock --stdin <<<horse &
unlocking=$!
timeout "$PATIENCE" bash -c 'until pkill -9 -P "$1"; do sleep 0.01; done' - "$helper"
kill -CONT "$swtpm"
wait "$unlocking"
run load example.com two
run load example.com four
run unlock --stdin <<<horse
run load example.com four

title "the helper is killed, and comes back"
run lock
{
    kill -9 "$helper"
    wait "$helper"
} 2>/dev/null # where the shell says that it was killed
run unlock --stdin <<<horse
levels
run device show
rm -f "$socket"

title "a socket that never answers"
python3 - "$socket" <<'PY' &
import socket, sys, time
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen()
time.sleep(600)
PY
tools+=($!)
until_exists "$socket"
run lock
run unlock --stdin <<<horse
run load example.com two
run load example.com four
run device show
unset TOKENKEEP_TPM2_SOCKET
export TOKENKEEP_TCTI

machine a "the password and the recovery code"
change_passwords
start_tpm b
machine b "a forgotten password"
TOKENKEEP_VAULT=$WORK/forgotten
"$program" password set --stdin <<<newer
"$program" device choose --stdin <<<newer 2>/dev/null
for name in one two three four five; do
    case $name in
        one) level=when-unlocked ;;
        two) level=after-first-unlock ;;
        three) level=when-unlocked-$this ;;
        four) level=after-first-unlock-$this ;;
        five) level=when-passcode-set-$this ;;
    esac
    printf %s "$name" | "$program" save example.com "$name" --level "$level"
done
code=$("$program" recovery create --stdin <<<newer)
forget
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
levels
forget
TOKENKEEP_VAULT=$WORK/vault

copy_elsewhere

machine a "to a machine key and back"
run unlock --stdin <<<newer
run device re-bind abacus --stdin <<<newer
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    on_machine own
fi
run device make-machine-key
run device re-bind machine-key --stdin <<<newer
other_machine
levels
run device re-bind --stdin <<<newer
other_machine
levels
TOKENKEEP=$program

machine a "the TPM is gone, and comes back"
kill "$swtpm" 2>/dev/null
kill "${tools[0]}"
wait "${tools[0]}" 2>/dev/null
run unlock --stdin <<<newer
run load example.com two
run load example.com four
run device show
start_tpm a
run unlock --stdin <<<newer
levels

machine a "the TPM is cleared"
TPM2TOOLS_TCTI=$TOKENKEEP_TCTI tpm2_clear
run unlock --stdin <<<newer
levels
run device show
run password remove --stdin --destroy-items <<<newer
run device re-bind --destroy-items --stdin <<<newer
run list
forget

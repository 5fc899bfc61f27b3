secret=tell-nobody-4711

title "neither files nor messages nor lists hold the secret"
printf %s "$secret" | "$TOKENKEEP" save example.com ann --attribute kind=token
printf %s "$secret" | "$TOKENKEEP" save example.com ann --if-absent 2>messages
printf %s "$secret" | "$TOKENKEEP" save example.com ann --if-version 1 2>>messages
printf %s "$secret" | "$TOKENKEEP" save example.com ann --require-enforced 2>>messages
for command in list 'list --json' status 'status --json'; do "$TOKENKEEP" $command; done >>messages 2>&1
grep -rlF -e "$secret" -e "$(printf %s "$secret" | base64)" messages vault home || echo "nowhere"

title "names are not in the vault's files either"
grep -rlF example.com vault || echo "nowhere"

title "the files are for their owner alone"
umask 000
printf %s "$secret" | TOKENKEEP_VAULT="$WORK/open" "$TOKENKEEP" save example.com ann
find vault open ! -type l -perm /077

title "a crash shows nothing of the memory"
for signal in QUIT SEGV ABRT TRAP; do
    python3 - "$signal" "$PATIENCE" "$TOKENKEEP" save example.com ann <<'PYTHON'
import os, signal, subprocess, sys, time
number = getattr(signal, "SIG" + sys.argv[1])
process = subprocess.Popen(
    sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    env=dict(os.environ, SWIFT_BACKTRACE="enable=yes"))
# It has started to read once the pipe, which is filled first, takes more.
os.set_blocking(process.stdin.fileno(), False)
sent, deadline = 0, time.monotonic() + int(sys.argv[2])
while sent < 200_000 and time.monotonic() < deadline:
    try:
        sent += os.write(process.stdin.fileno(), b"tell-nobody-4711" * 256)
    except BlockingIOError:
        os.sched_yield()
process.send_signal(number)
output, _ = process.communicate()
quiet = not any(word in output for word in [b"tell-nobody", b"crashed", b"0x", b"Thread"])
print(sys.argv[1], "ends it," if process.returncode == -number else process.returncode, "quiet" if quiet else output)
PYTHON
done

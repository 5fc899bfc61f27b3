printf 'a secret of some length' | run save example.com ann

title "a full device"
for command in 'load example.com ann' list 'list --json' status --help --version '--generate-completion-script bash'; do
    echo "$ tokenkeep $command"
    "$TOKENKEEP" $command >/dev/full
    echo "[exit $?]"
done

title "closed standard output"
"$TOKENKEEP" load example.com ann >&-
echo "[exit $?]"
"$TOKENKEEP" list >&-
echo "[exit $?]"
title "closed standard error, and all of them"
"$TOKENKEEP" load example.com nobody 2>&-
echo "[exit $?]"
"$TOKENKEEP" save example.com bob <&- >&- 2>&-
echo "[exit $?]"
"$TOKENKEEP" list

title "a reader that has gone: quiet, and no success"
python3 - "$TOKENKEEP" load example.com ann <<'PYTHON'
import os, signal, subprocess, sys
for ignored in [False, True]:
    reader, writer = os.pipe()
    os.close(reader)
    handling = signal.SIG_IGN if ignored else signal.SIG_DFL
    ended = subprocess.run(
        sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, restore_signals=False,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, handling))
    os.close(writer)
    print("SIGPIPE", "ignored:" if ignored else "as usual:", ended.returncode, ended.stderr)
PYTHON

title "output that takes a little at a time, without blocking"
head -c 1048576 /dev/urandom >large
"$TOKENKEEP" save example.com large <large
python3 - "$TOKENKEEP" load example.com large <<'PYTHON'
import os, subprocess, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
process = subprocess.Popen(sys.argv[1:], stdout=writer)
os.close(writer)
with open("got", "wb") as file:
    while piece := os.read(reader, 5000):
        file.write(piece)
print("[exit %d]" % process.wait())
PYTHON
same large got

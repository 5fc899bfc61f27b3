"""Drives a program on a pseudo-terminal and shows what a person would see.

Usage: terminal.py [STEP...] -- COMMAND...

Steps: "expect:TEXT" waits for TEXT to appear; "send:TEXT" types it (escapes as in Python); "pipe:COMMAND" types the
output of a shell command that reads the screen; "echo" says whether the
terminal shows what is typed; "signal:NAME" sends a signal to the program; "close", the last step, closes the terminal. Then the program must
end by itself. A step that waits in vain fails.
"""
import fcntl, os, pty, select, signal, subprocess, sys, termios, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import PATIENCE  # noqa: E402: its folder must be on the path first


class Screen:
    def __init__(self, descriptor):
        self.descriptor, self.text, self.seen = descriptor, "", 0

    def read(self, seconds):
        """Adds what appears within the time; False where nothing did."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "backslashreplace").replace("\r", "")
        return bool(data)

    def wait_for(self, text):
        """Waits for text behind what was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.text[self.seen:]:
            if time.monotonic() > deadline:
                sys.exit(f"terminal.py: no {text!r} on the screen: {self.text!r}")
            self.read(0.2)
        self.seen = self.text.index(text, self.seen) + len(text)


def echoes(descriptor):
    return bool(termios.tcgetattr(descriptor)[3] & termios.ECHO)


def finish(process, screen):
    """Reads on until the program has ended and nothing is left to read."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            sys.exit(f"terminal.py: the program does not end: {screen.text!r}")
        screen.read(0.05)
    while screen.read(0.05):
        pass


def main():
    split = sys.argv.index("--")
    steps, command = sys.argv[1:split], sys.argv[split + 1:]
    main_end, terminal = pty.openpty()
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    screen = Screen(main_end)
    for step in steps:
        word, _, text = step.partition(":")
        if word == "pipe":
            text = subprocess.run(
                ["bash", "-c", text], input=screen.text, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE).stdout
            word = "send"
        else:
            text = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        if word == "expect":
            screen.wait_for(text)
        elif word == "send":
            data = text.encode("latin-1")
            while data:
                data = data[os.write(main_end, data):]
        elif word == "signal":
            process.send_signal(getattr(signal, "SIG" + text))
        elif word == "echo":
            print("terminal echoes:", "yes" if echoes(terminal) else "no")
        elif word == "close":
            os.close(terminal)
            os.close(main_end)
            print(f"[exit {process.wait(PATIENCE)}] terminal closed")
            return
        else:
            sys.exit(f"terminal.py: no such step: {step}")
    finish(process, screen)
    for line in screen.text.splitlines():
        print("|", line)
    code = process.returncode
    print(f"[signal {signal.Signals(-code).name}]" if code < 0 else f"[exit {code}]",
          "terminal echoes:", "yes" if echoes(terminal) else "no")


main()

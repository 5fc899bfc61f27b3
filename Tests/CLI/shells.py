"""Types a line into an interactive shell and prints the words of its command, which shows them as <<<WORDS>>>.

Usage: shells.py SHELL SCRIPT LINE, where <TAB> in LINE completes. The shell's own
echo, prompts and colours are left out.
"""
import os
import pty
import re
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import PATIENCE  # noqa: E402: its folder must be on the path first

COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READY = {
    "bash": "PS1='R''EADY> '; bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'; . {}\n",
    "zsh": "PROMPT='R''EADY> '; unsetopt zle_bracketed_paste PROMPT_SP; autoload -U compinit; compinit -D -u; . {}\n",
    "fish": "function fish_prompt; echo -n 'R''EADY> '; end; set -g fish_autosuggestion_enabled 0; source {}\n",
}


class Shell:
    def __init__(self, name, script):
        self.name, self.seen = name, b""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm"
            os.execvp(COMMANDS[name][0], COMMANDS[name])
        self.send(READY[name].format(script))
        self.wait("READY> ")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, text):
        """Reads until the text was shown; returns what came before it."""
        while text.encode() not in self.seen:
            if not select.select([self.terminal], [], [], PATIENCE)[0]:
                raise SystemExit(f"{self.name} showed no {text!r} but {self.seen!r}")
            self.seen += os.read(self.terminal, 65536)
            self.answer()
        before, _, self.seen = self.seen.partition(text.encode())
        return before.decode(errors="replace")

    def answer(self):
        """A shell may ask the terminal what it is (fish does) and wait for the answer."""
        for question, reply in ((b"\x1b[c", "\x1b[?62;22c"), (b"\x1b[0c", "\x1b[?62;22c"), (b"\x1b[6n", "\x1b[1;1R")):
            if question in self.seen:
                self.seen = self.seen.replace(question, b"")
                self.send(reply)


def plain(text):
    text = re.sub(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]|\x1b\(B", "", text)
    return text.replace("\r", "")


def main():
    name, script, line = sys.argv[1:]
    shell = Shell(name, script)
    # The scenario's command shows its words between two marks, whatever the editor of the line draws.
    for part in re.split("(<TAB>)", line):
        shell.send("\t" if part == "<TAB>" else part)
    shell.send("\n")
    shell.wait("<<<")
    print(plain(shell.wait(">>>")))
    os.close(shell.terminal)


main()

#!/usr/bin/env python3
"""Records examples/demo.sh in a terminal and writes the recording as a picture, docs/demo.svg.

Usage: demo-picture.py PREFIX [PICTURE]     (the prefix into which the package was installed, as for demo.sh)

The text is what the demo prints on a terminal. Its pace is that of a reader: the demo is faster than the eye.
"""
import html
import os
import pathlib
import pty
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 120, 27
WIDTH, HEIGHT, MARGIN = 7.85, 18, 16  # of a character and a line at 13 px, in pixels
# Seconds until the next line.
AFTER_TITLE, AFTER_COMMAND, AFTER_OUTPUT, AT_THE_END = 1.6, 0.9, 0.35, 6.0

STYLE = """
  .screen { fill: #0d1117; stroke: #30363d } .output { fill: #c9d1d9 } .command { fill: #7ee787 } .title { fill: #ffffff; font-weight: bold }
  @media (prefers-color-scheme: light) {
    .screen { fill: #f6f8fa; stroke: #d0d7de } .output { fill: #24292f } .command { fill: #116329 } .title { fill: #000000 }
  }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
"""


def recorded(prefix):
    """What the demo prints on a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(ROOT / "examples/demo.sh", ["demo.sh", prefix], {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    output = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # EIO: nobody has the terminal open any more
            break
        if not part:
            break
        output += part
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"demo-picture.py: the demo failed\n{output.decode(errors='replace')}")
    return output.decode().replace("\r\n", "\n")


def rows(text):
    """(class, text) of each row of the terminal."""
    for line in text.strip("\n").split("\n"):
        words = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)
        kind = "title" if "\x1b[1m" in line else "command" if words.startswith("$ ") else "output"
        for start in range(0, max(len(words), 1), COLUMNS):
            yield kind, words[start:start + COLUMNS]


def keyframes(steps):
    """The keyframes of a vertical move, from (share of the whole time, pixels); equal ones in a row are one."""
    frames, last = [], None
    for share, pixels in steps:
        if pixels != last:
            frames.append(f"{100 * share:.2f}% {{ transform: translateY({pixels}px) }}")
        last = pixels
    return " ".join([*frames, f"100% {{ transform: translateY({last}px) }}"])


def picture(lines):
    moments, now = [], 0.0
    for kind, words in lines:
        moments.append(now)
        now += {"title": AFTER_TITLE, "command": AFTER_COMMAND, "output": AFTER_OUTPUT if words else 0}[kind]
    total = now + AT_THE_END
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), ROWS * HEIGHT + 2 * MARGIN
    # A step for each row after which the reader waits. The cover hides the rows that are not printed yet; when the screen
    # is full, the text moves up.
    steps = [row for row, moment in enumerate(moments) if row + 1 == len(moments) or moments[row + 1] > moment]
    moving = keyframes((moments[row] / total, HEIGHT * min(0, ROWS - 1 - row)) for row in steps)
    covering = keyframes((moments[row] / total, HEIGHT * min(ROWS, row + 1)) for row in steps)
    shown = "\n".join(
        f'    <text class="{kind}" x="{MARGIN}" y="{row * HEIGHT + 13}">{html.escape(words, quote=False)}</text>'
        for row, (kind, words) in enumerate(lines) if words)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>The demo of TokenKeep in a terminal</title>
<style>{STYLE}
  .lines {{ transform: translateY(0) }} .cover {{ transform: translateY({ROWS * HEIGHT}px); stroke: none }}
  @media (prefers-reduced-motion: no-preference) {{
    .lines {{ animation: moving {total:.1f}s step-end infinite }} .cover {{ animation: covering {total:.1f}s step-end infinite }}
  }}
  @keyframes moving {{ {moving} }}
  @keyframes covering {{ {covering} }}
</style>
<rect class="screen" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>
<svg x="0" y="{MARGIN}" width="{width}" height="{ROWS * HEIGHT}">
  <g class="lines">
{shown}
  </g>
  <rect class="screen cover" x="{MARGIN}" y="0" width="{width - 2 * MARGIN}" height="{ROWS * HEIGHT}"/>
</svg>
</svg>
"""


def main():
    if len(sys.argv) not in (2, 3) or not pathlib.Path(sys.argv[1], "bin/tokenkeep").exists():
        sys.exit("usage: demo-picture.py PREFIX [PICTURE]")
    path = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "docs/demo.svg"
    path.write_text(picture(list(rows(recorded(os.path.abspath(sys.argv[1]))))), encoding="utf-8")


main()

"""Requests of SessionClient beside those of URLSession alone: time and memory."""
import os
import subprocess

from harness import HERE, WORK, run, table

CALLS = 2_000
IN_FLIGHT = 1_000
ROUNDS = 3


def built():
    """The program, which SwiftPM builds."""
    root = os.path.join(HERE, "..", "..")
    command = ["swift", "build", "-c", "release", "--package-path", root, "--scratch-path", f"{root}/.build-bench",
               "--product", "tokenkeep-requests"]
    environment = {**os.environ, "TOKENKEEP_PROGRAM": "1"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, env=environment, capture_output=True, text=True)
    return os.path.join(shown.stdout.strip(), "tokenkeep-requests")


def with_server(program, *arguments):
    """The figures of one run beside a server of its own."""
    with subprocess.Popen([program, "serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            mode, *rest = arguments
            return run(program, mode, server.stdout.readline().strip(), *rest, TOKENKEEP_VAULT=f"{WORK}/requests")
        finally:
            server.kill()


def median(figures):
    return sorted(figures)[ROUNDS // 2]


def measure():
    program = built()
    times = [with_server(program, "time", CALLS) for _ in range(ROUNDS)]
    rows = []
    for title, suffix in ("by the clock", ""), ("of the processors", "-processor"):
        bare, client = (median(figures[name + suffix, CALLS] for figures in times) for name in ("bare", "client"))
        rows.append([title, f"{bare:.0f}", f"{client:.0f}", f"{client - bare:.0f}"])
    table(f"A request on a kept connection, medians of {CALLS} in turns, in microseconds (goal: at most 20 more)",
          ["time", "URLSession", "SessionClient", "more"], rows)
    kinds = ("bare", "client")
    memory = [median(with_server(program, "memory", kind, IN_FLIGHT)[kind, IN_FLIGHT] for _ in range(ROUNDS)) for kind in kinds]
    table(f"Memory of each of {IN_FLIGHT} requests in flight, in KiB", ["URLSession", "SessionClient"],
          [[f"{figure:.1f}" for figure in memory]])

"""The share of the moments at which a fault is played: TOKENKEEP_FAULTS_SHARE=3 plays every third of them, all without it."""
import functools
import os
import subprocess

SHARE = int(os.environ.get("TOKENKEEP_FAULTS_SHARE", "1"))
# Of the moments at which a fault finds what it finds at another one, so many commits in turn play one share each.
TURNS = 8
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def share(moments, costly=1):
    """The last moment is among them. Of moments that are costly by this factor, a share plays so many times fewer."""
    step = SHARE * costly if SHARE > 1 else 1
    return moments[(len(moments) - 1) % step::step]


@functools.cache
def turn():
    """This commit's turn: TOKENKEEP_FAULTS_TURN, or by the number of commits."""
    if "TOKENKEEP_FAULTS_TURN" in os.environ:
        return int(os.environ["TOKENKEEP_FAULTS_TURN"]) % TURNS
    words = [os.path.join(ROOT, "scripts", "part-of-commit.sh"), *map(str, range(TURNS))]
    found = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    return int(found.stdout) if found.returncode == 0 else 0


def turn_of(moments):
    """The moments whose turn it is."""
    return moments[turn()::TURNS]

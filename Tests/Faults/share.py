"""The share of the moments at which a fault is played: TOKENKEEP_FAULTS_SHARE=3 plays every third of them, all without it."""
import os

SHARE = int(os.environ.get("TOKENKEEP_FAULTS_SHARE", "1"))


def share(moments):
    """The last moment is among them."""
    return moments[(len(moments) - 1) % SHARE::SHARE]

"""What an attacker makes who has every file of a vault: plant.py VAULT WHAT

WHAT is a method of ../Vectors/attack.py, or `inject ACCOUNT`: an item of example.com.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors"))
from attack import Attacker  # noqa: E402: its folder must be on the path first
from record_writer import ItemPlan  # noqa: E402

attacker = Attacker(sys.argv[1])
if sys.argv[2] == "inject":
    attacker.inject_record(ItemPlan("example.com", sys.argv[3], b"his token"))
else:
    getattr(attacker, sys.argv[2])()

"""The ID of an item, from which its place in the lock follows: item_id.py VAULT NAMESPACE SERVICE ACCOUNT"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors"))
from vault_format import item_id  # noqa: E402: its folder must be on the path first
from vault_reader import VaultReader  # noqa: E402

print(item_id(VaultReader(sys.argv[1]).header.journal_key, *sys.argv[2:]))

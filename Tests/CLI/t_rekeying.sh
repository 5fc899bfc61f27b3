# needs: strace
for account in $(seq 0 39); do printf %s "$account" | "$TOKENKEEP" save s "$account"; done
python3 "$HERE/rekeying.py" 40
run status
run lock

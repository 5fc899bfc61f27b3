# Errors of moving items, and of items that the vault seals for a module.
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES"
# Keeps items in files, with their metadata; the file `does` says how it misbehaves: OPERATION=STATUS, or an expression
# that changes the lines of a save.
cat >"$TOKENKEEP_MODULES/files" <<'MODULE'
#!/usr/bin/python3
import os, sys
folder = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "items")
does = open(folder + "/../does").read().strip()
lines = [line.rstrip("\n") for line in iter(sys.stdin.readline, "\n")]
asked = dict(line.split("=", 1) for line in lines)
operation = asked["operation"]
key = lambda fields: "|".join(fields.get(name, "").replace("/", "_") for name in ("namespace", "service", "account"))
path = os.path.join(folder, key(asked))
kept = ("label", "attribute.", "accessibility", "flags", "created_at", "modified_at", "expires_at", "secret+")
answer = ["status=ok"]
if does.startswith(operation + "="):
    answer = ["status=" + does.split("=")[1]]
elif operation == "report":
    answer += ["capability=" + word for word in ("keeps-metadata", "saves", "lists")]
elif operation == "save":
    if does.startswith("replace "):
        lines = [line.replace(*does.split()[1:]) for line in lines]
    open(path, "w").write("\n".join(line for line in lines if line.startswith(kept)))
elif operation in ("load", "clear") and not os.path.exists(path):
    answer = ["status=not_found"]
elif operation == "load":
    answer += open(path).read().split("\n")
elif operation == "clear":
    os.remove(path)
elif operation == "list":
    for name in sorted(os.listdir(folder)):
        namespace, service, account = name.split("|")
        if namespace == asked["namespace"] and asked.get("service", service) == service:
            answer += ["item=", "namespace=" + namespace, "service=" + service, "account=" + account]
print("\n".join(["tokenkeep=1"] + answer + [""]))
MODULE
chmod 755 "$TOKENKEEP_MODULES/files"
mkdir items && : >does
both=$'any sufficient files\nany required vault'
save() { printf %s "$1" | "$TOKENKEEP" save example.com ann --stack "${@:2}" || echo "[exit $?]"; }
move() { run migrate --from "$1" --to "$2" --stack "$both"; }
clear() { : >does; rm -f items/*; "$TOKENKEEP" clear example.com ann --stack "any required vault"; }

title "an item that a move would leave with less protection"
echo horse >password && chmod 600 password && run password set --stdin <password
save one "any required vault" --require-enforced
move vault files
clear

title "other values in the way"
save new "any required files"
cp -a items new && "$TOKENKEEP" clear example.com ann --stack "$both"
save old "any required vault"
cp new/* items
sed -i 's/^modified_at=.*/modified_at=4000000000/' items/*
move vault files
sed -i 's/^modified_at=.*/modified_at=1/' items/*
move vault files
clear

title "a module that alters what it gets"
save one "any required vault"
echo "replace b25l dHdv" >does
move vault files
clear
save one "any required vault"
echo "replace accessibility=2 accessibility=1" >does
move vault files
clear

title "a module that stops answering"
save one "any required vault"
echo "load=unavailable" >does
move vault files
echo "save=unavailable" >does
move vault files
clear

title "a condition on an item with a pending change"
save one "$both"
echo "save=unavailable" >does
save two "$both"
printf three | run save example.com ann --if-absent --stack "$both"
printf three | run save example.com ann --if-version 1 --stack "$both"
clear

title "an item that the vault sealed"
save sealed "any required files" --level when-unlocked
grep -c "secret+=c2VhbGVk" items/*
mkdir other && TOKENKEEP_VAULT=$WORK/other/vault run password set --stdin <password
TOKENKEEP_VAULT=$WORK/other/vault run load example.com ann --stack "any required files"
sed -i 's/^secret+=.*/secret+=b25l/' items/*
run load example.com ann --stack "any required files"

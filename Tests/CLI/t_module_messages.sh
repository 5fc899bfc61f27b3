# Errors of stacks and modules that no other scenario provokes.
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES"
# Answers loads with not_found, and other operations with a status.
module() {
    cat >"$TOKENKEEP_MODULES/$1" <<MODULE
#!/bin/sh
while IFS= read -r line && [ -n "\$line" ]; do
    case \$line in operation=*) operation=\${line#*=} ;; esac
done
$2
echo tokenkeep=1
case \$operation in
load) echo status=not_found ;;
report) printf 'status=ok\ncapability=saves\ncapability=lists\n' ;;
*) echo status=$3 ;;
esac
echo
MODULE
    chmod 755 "$TOKENKEEP_MODULES/$1"
}
module plain : ok
module refuses : denied
module slow 'sleep 60' ok
save() { printf token | run save example.com "$@"; }

title "stacks"
run list --stack $'any sufficient plain level=1\nany required vault\nload sufficient plain level=2'
touch "$TOKENKEEP_MODULES/plain.so"
run list --stack $'any sufficient plain\nload sufficient plain.so\nany required vault'
rm "$TOKENKEEP_MODULES/plain.so"
save ann --stack $'any [ok=ok default=bad] plain\nany required vault'
save ann --stack $'save [default=ignore] refuses\nload required vault'

title "modules that keep secrets alone"
save bob --level when-unlocked --stack 'any required plain'
save bob --level when-unlocked --require-enforced --stack 'any required plain'

title "the arguments of a program"
run load example.com cyd --stack "any required plain env=1x"

title "a program that does not answer"
run load example.com cyd --stack "any required slow timeout=200ms"

title "a module that is missing"
run load example.com cyd --explain --stack $'# It may be missing.\n-load sufficient gone\nany required vault'

title "a configuration file that is too long"
python3 -c 'print("# " + "x" * 70000 + "\nany required vault")' >"$WORK/long.conf"
run stack check "$WORK/long.conf"

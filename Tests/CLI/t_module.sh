# Modules of somebody else's: listed, checked, used, refused. What they do in detail, the tests in Swift say.
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES"

# A module for reading that answers every load with one secret.
cat >"$TOKENKEEP_MODULES/one" <<'END'
#!/bin/sh
while IFS= read -r line && [ -n "$line" ]; do
    case $line in operation=*) operation=${line#*=} ;; service=*) service=${line#*=} ;; esac
done
echo tokenkeep=1
case $operation in
load) if [ "$(echo "$service" | base64 -d)" = example.com ]; then printf 'status=ok\nsecret+=b25l\n'; else echo status=not_found; fi ;;
report) printf 'status=ok\nnote=YSBub3Rl\ncapability=enforces-other-user\n' ;;
*) echo status=unsupported ;;
esac
echo
END
printf '#!/bin/sh\nexec cat\n' >"$TOKENKEEP_MODULES/echoes"
# A module that loses everything it says it saved.
cat >"$TOKENKEEP_MODULES/forgetful" <<'END'
#!/bin/sh
while IFS= read -r line && [ -n "$line" ]; do
    case $line in operation=*) operation=${line#*=} ;; esac
done
echo tokenkeep=1
case $operation in
load) echo status=not_found ;;
save | clear) echo status=ok ;;
report) printf 'status=ok\ncapability=saves\n' ;;
*) echo status=unsupported ;;
esac
echo
END
printf 'no object' >"$TOKENKEEP_MODULES/broken.so"
chmod 755 "$TOKENKEEP_MODULES"/*
printf '#!/bin/sh\n' >"$TOKENKEEP_MODULES/loose"
chmod 777 "$TOKENKEEP_MODULES/loose"
printf 'not executable' >"$TOKENKEEP_MODULES/README"

# A module that echoes whatever it gets, in every text that it may write.
cat >"$TOKENKEEP_MODULES/parrot" <<'END'
#!/bin/sh
while IFS= read -r line && [ -n "$line" ]; do
    case $line in operation=*) operation=${line#*=} ;; secret+=*) secret=${line#*=} ;; esac
done
echo "$secret" | base64 -d >&2
echo tokenkeep=1
case $operation in
load) echo status=not_found ;;
save) printf 'status=denied\nmessage=%s\nnote=%s\n' "$secret" "$secret" ;;
report) printf 'status=ok\ncapability=saves\n' ;;
*) echo status=unsupported ;;
esac
echo
END
chmod 755 "$TOKENKEEP_MODULES/parrot"

title "what there is"
run module list | tr -s ' '

title "a module for reading does what it must"
run module check one
cd "$TOKENKEEP_MODULES"
run module check ./one
run module check forgetful | sed 's/tokenkeep-check-[0-9]*/tokenkeep-check-N/'
cd "$WORK"
run module check vault
run module check memory

title "one that does not"
run module check echoes | grep -v '^ok '
run module check "$TOKENKEEP_MODULES/broken.so"
run module check "$TOKENKEEP_MODULES/loose"
run module check "$TOKENKEEP_MODULES/none"
run module check none

title "in a stack"
run load --stack "load sufficient one" example.com ann
run load --stack "load sufficient one" example.org ann
run load --stack "load sufficient echoes" example.com ann
run load --stack "load required loose" example.com ann
run load --stack="-load sufficient nowhere
load required one" example.com ann
run load --stack "load required $TOKENKEEP_MODULES/one" example.com ann
printf x | run save --stack "any required one" example.com ann
run status --stack "any required one
any required vault" | sed '/^secrets in memory/d; /hint: raise/d'

title "what a module echoes is in no message, trace or debug output"
printf s3cr3t | TOKENKEEP_DEBUG=1 run save --explain --stack "any required parrot" example.com ann

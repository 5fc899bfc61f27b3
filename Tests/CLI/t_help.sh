run --help
for command in save load clear list search run import watch status sync migrate forget stack module provider; do run "$command" --help; done
for command in show check; do run stack "$command" --help; done
for command in list check; do run module "$command" --help; done
for command in list show check discover; do run provider "$command" --help; done
run help load
run save -h >/dev/null
title "the version is that of the C header"
[ "$("$TOKENKEEP" --version)" = "tokenkeep $(sed -n 's/.*TOKENKEEP_VERSION *"\(.*\)"/\1/p' "$HERE/../../include/tokenkeep/version.h")" ] \
    && echo same
header_number() { sed -n "s/.*TOKENKEEP_VERSION_$1 *\([0-9]*\)\$/\1/p" "$HERE/../../include/tokenkeep/version.h"; }
number=$(sed -n 's/.*let number: UInt32 = \([0-9_]*\)$/\1/p' "$HERE/../../Sources/TokenKeepCore/TokenKeepVersion.swift" | tr -d _)
parts=$(($(header_number MAJOR) * 1000000 + $(header_number MINOR) * 1000 + $(header_number PATCH)))
[ "$number" = "$(header_number NUMBER)" ] && [ "$number" = "$parts" ] && echo "and so are the numbers"
[ "$("$TOKENKEEP" --version)" = "tokenkeep $(header_number MAJOR).$(header_number MINOR).$(header_number PATCH)" ] \
    && echo "and their parts"

title "examples stay whole, however narrow the terminal is"
python3 "$HERE/examples.py"

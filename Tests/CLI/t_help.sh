run --help
for command in save load clear list status stack; do run "$command" --help; done
for command in show check; do run stack "$command" --help; done
run help load
run save -h >/dev/null
title "the version is that of the C header"
[ "$("$TOKENKEEP" --version)" = "tokenkeep $(sed -n 's/.*TOKENKEEP_VERSION *"\(.*\)"/\1/p' "$HERE/../../include/tokenkeep/version.h")" ] \
    && echo same

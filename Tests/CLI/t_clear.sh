title "one item"
printf x | run save example.com ann
run clear example.com ann
run load example.com ann
title "what is not there"
run clear example.com ann
run clear nowhere.example --all

title "a whole service, and nothing else"
for account in ann bob cat; do printf x | "$TOKENKEEP" save example.com "$account"; done
printf x | "$TOKENKEEP" save example.org ann
printf x | "$TOKENKEEP" save example.com ann --namespace other
run clear example.com --all
run list
run list --namespace other
run clear example.org --all

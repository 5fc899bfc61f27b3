# needs: shells
for shell in bash zsh fish; do
    "$TOKENKEEP" --generate-completion-script "$shell" >"script.$shell"
    echo "$shell [exit $?] $(grep -c tokenkeep "script.$shell" | sed 's/[1-9][0-9]*/has lines/')"
done
run --generate-completion-script csh
bash -n script.bash && echo "bash reads it"

title "what bash offers"
offers() {
    bash -c '. ./script.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
$(complete -p tokenkeep | sed "s/.*-F \([^ ]*\).*/\1/") tokenkeep "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf "%s\n" "${COMPREPLY[@]}" | sort' bash "$@"
}
offers tokenkeep s
offers tokenkeep save --level when-

# Each shell completes a real line on a terminal. The command shows its words; only completions reach the program.
mkdir bin
printf '#!/bin/sh\ncase $1 in ---completion) exec "%s" "$@" ;; esac\nprintf "<<<%%s>>>\\n" "$*"\n' "$TOKENKEEP" >bin/tokenkeep
chmod 755 bin/tokenkeep
typed() {
    local shell
    for shell in bash zsh fish; do
        command -v $shell >/dev/null || { echo "$shell is not installed"; continue; }
        printf '%s: ' "$shell"
        PATH="$WORK/bin:$PATH" python3 "$HERE/shells.py" $shell "$WORK/script.$shell" "$1"
    done
}
title "services and accounts"
for name in 'example.com ann' 'git:https://github.com bob' 'other.example carol'; do printf x | "$TOKENKEEP" save $name; done
printf x | "$TOKENKEEP" save work.example dan --namespace team
typed 'tokenkeep load exam<TAB>a<TAB>'
typed 'tokenkeep clear --namespace team wo<TAB><TAB>'
typed 'tokenkeep load git:https://gi<TAB><TAB>'
typed 'tokenkeep load git:ht<TAB>b<TAB>'
printf x | "$TOKENKEEP" save 'two words' eve
printf x | "$TOKENKEEP" save mail ann@mail.example
printf x | "$TOKENKEEP" save https://u@h.example/p me
typed 'tokenkeep load mail ann@<TAB>'
typed 'tokenkeep load mail ann@ma<TAB>'
typed 'tokenkeep load mail an<TAB>'
typed 'tokenkeep load https://u@<TAB>m<TAB>'
typed 'tokenkeep load --stack "any required vault" exam<TAB>a<TAB>'
typed "tokenkeep load 'two words' e<TAB>"
typed 'tokenkeep load two\ words e<TAB>'
typed 'tokenkeep stat<TAB>--js<TAB>'

title "nothing is offered while the vault is locked, and nobody is asked"
echo horse | run password set --stdin
run lock
typed 'tokenkeep load exam<TAB>a<TAB>'

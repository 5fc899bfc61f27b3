/// An addition to the argument parser's completion script for bash, which completes names that contain `:`, `@` or `=`.
enum BashCompletion {
    private static let firstLine = "#!/bin/bash\n"

    /// Appends the addition to a completion script for bash. Returns any other text unchanged.
    static func completed(_ text: String) -> String {
        text.hasPrefix(firstLine) && text.contains("_tokenkeep()") ? text + "\n" + joining : text
    }

    /// bash breaks words at `:`, `@` and `=` (`COMP_WORDBREAKS`), and writes these characters as `\:`, `\@` and `\=`
    /// into a completed word. This function joins the parts of a word again. From each completion it removes the part
    /// before the text that bash replaces (`$2`).
    private static let joining = """
        _tokenkeep_plain() {
            local text=$1 mark
            for mark in : @ =; do text=${text//"\\\\$mark"/$mark}; done
            printf '%s' "$text"
        }
        _tokenkeep_joined() {
            local -a joined=()
            local -i at
            local word trimmed rest=$COMP_LINE
            for ((at = 0; at <= COMP_CWORD; at++)); do
                word=${COMP_WORDS[at]}
                trimmed=${rest#"${rest%%[![:space:]]*}"}
                # Words without white space between them are parts of one, if a mark is there.
                if ((at > 1)) && [[ $trimmed == "$rest" && ( -z ${word//[:@=]/} || -z ${COMP_WORDS[at - 1]//[:@=]/} ) ]]; then
                    joined[${#joined[@]} - 1]+=$(_tokenkeep_plain "$word")
                else
                    joined+=("$(_tokenkeep_plain "$word")")
                fi
                rest=${trimmed#"$word"}
            done
            local last=${joined[${#joined[@]} - 1]}
            local -a COMP_WORDS=("${joined[@]}")
            local -i COMP_CWORD=$((${#joined[@]} - 1))
            local line=${COMP_LINE:0:COMP_POINT}
            local COMP_LINE
            COMP_LINE=$(_tokenkeep_plain "$line")
            local -i COMP_POINT=${#COMP_LINE}
            local replaced
            replaced=$(_tokenkeep_plain "$2")
            # A colon or an equals sign at the end stays; an at sign is replaced with what follows it.
            [[ -z ${replaced//[:=]/} ]] && replaced=
            local before=${last%"$replaced"}
            _tokenkeep "$1" "$last" "${joined[COMP_CWORD - 1]}"
            COMPREPLY=("${COMPREPLY[@]#"$before"}")
        }
        complete -o filenames -F _tokenkeep_joined tokenkeep

        """
}

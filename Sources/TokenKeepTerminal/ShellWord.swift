/// A word of a command that the user can paste into a shell.
package enum ShellWord {
    /// The word in single quotes; unquoted if no shell interprets any of its characters.
    package static func quoted(_ word: String) -> String {
        if isPlain(word) { return word }
        let parts = word.split(separator: "'" as Character, omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }

    /// Whether no shell interprets any character of the word.
    package static func isPlain(_ word: some StringProtocol) -> Bool {
        !word.isEmpty
            && word.allSatisfy { character in
                character.isASCII && (character.isLetter || character.isNumber || "/._+-:@%,".contains(character))
            }
    }
}

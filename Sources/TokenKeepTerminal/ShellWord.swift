/// A word of a command that the user can paste into a shell.
package enum ShellWord {
    /// Returns the word in single quotes, or unquoted if no shell gives any of its characters a meaning.
    package static func quoted(_ word: String) -> String {
        if isPlain(word) { return word }
        let parts = word.split(separator: "'" as Character, omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }

    /// Whether the word is not empty and contains only ASCII letters, digits and characters that no shell interprets.
    package static func isPlain(_ word: some StringProtocol) -> Bool {
        !word.isEmpty
            && word.allSatisfy { character in
                character.isASCII && (character.isLetter || character.isNumber || "/._+-:@%,".contains(character))
            }
    }
}

/// A word of a command for the user's shell.
enum ShellWord {
    /// The word, in single quotes unless the shell takes it as it is.
    static func quoted(_ word: String) -> String {
        if isPlain(word) { return word }
        return "'" + word.replacing("'", with: "'\\''") + "'"
    }

    /// Whether no shell gives a character of the word a meaning of its own.
    static func isPlain(_ word: some StringProtocol) -> Bool {
        !word.isEmpty
            && word.allSatisfy { character in
                character.isASCII && (character.isLetter || character.isNumber || "/._+-:@%,".contains(character))
            }
    }
}

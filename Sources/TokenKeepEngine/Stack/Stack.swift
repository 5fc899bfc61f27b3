package import TokenKeepCore

/// A stack as it is used: read, and with every stack that it includes in its place.
package struct Stack: Sendable {
    /// A line, or the lines of another stack that count as one.
    package enum Entry: Sendable {
        /// A module's line.
        case line(StackLine)
        /// The entries of a substack: what it ends, jumps over and resets stays in it.
        case substack(Substack)
    }

    /// Another stack in the place of a line.
    package struct Substack: Sendable {
        /// The stack's name.
        package let name: String
        /// What its line applies to.
        package let operation: StackLine.Operation
        /// Where its line stands.
        package let place: StackPlace
        /// Its own entries, narrowed to ``operation``.
        package let entries: [Entry]
    }

    /// The file's path, or what the text is called.
    package let source: String
    /// Its lines and substacks in their order.
    package let entries: [Entry]

    /// All lines in their order, those of substacks among them.
    package var lines: [StackLine] { Stack.lines(of: entries) }

    static func lines(of entries: [Entry]) -> [StackLine] {
        entries.flatMap { entry in
            switch entry {
            case .line(let line): [line]
            case .substack(let substack): lines(of: substack.entries)
            }
        }
    }

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - source: what the messages call the text.
    ///   - directories: where the stacks are that it includes.
    /// - Throws: ``Status/invalid`` with file, line and what was expected.
    package init(text: String, source: String, directories: StackDirectories) throws(TokenKeepError) {
        try self.init(StackFile(path: source, text: text), chain: [], directories: directories)
    }

    /// Reads the stack of a name: the user's file, the system's, or for `default` the built-in text.
    ///
    /// - Throws: ``Status/invalid`` where there is none of the name, or it is malformed.
    package init(name: String, directories: StackDirectories) throws(TokenKeepError) {
        guard ModuleName.isValidFileName(name) else {
            throw TokenKeepError(
                .invalid, "the stack's name cannot be one of a stack",
                hint: "1 to 64 of a-z 0-9 . _ - with no . first")
        }
        let file = try directories.file(of: name)
        guard let file else {
            throw TokenKeepError(
                .invalid, "there is no stack \"\(name)\"", hint: "its file would be \(directories.path(of: name))")
        }
        try self.init(file, chain: [name], directories: directories)
    }

    /// Reads the file at a path, which must be as safe as one in the directories.
    ///
    /// - Throws: ``Status/invalid`` where there is none, or it is unsafe or malformed.
    package init(path: String, directories: StackDirectories) throws(TokenKeepError) {
        guard let file = try StackFile(path: path) else {
            throw TokenKeepError(.invalid, "there is no file \(path)")
        }
        try self.init(file, chain: [], directories: directories)
    }

    private init(_ file: StackFile, chain: [String], directories: StackDirectories) throws(TokenKeepError) {
        var resolver = StackResolver(directories: directories)
        source = file.path
        entries = try resolver.entries(of: file, for: .any, chain: chain)
        guard !lines.isEmpty else {
            throw TokenKeepError(.invalid, "\(source) names no module", hint: "for example: any required vault")
        }
    }
}

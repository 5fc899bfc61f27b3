package import TokenKeepCore

/// A parsed stack, with every included stack resolved.
package struct Stack: Sendable {
    /// A line, or a substack that counts as one line.
    package enum Entry: Sendable {
        /// A module's line.
        case line(StackLine)
        /// The entries of a substack. An end, jump or reset inside the substack stays inside.
        case substack(Substack)
    }

    /// Another stack in the place of a line.
    package struct Substack: Sendable {
        /// The stack's name.
        package let name: String
        /// The operation of the substack's line.
        package let operation: StackLine.Operation
        /// The place of the substack's line.
        package let place: StackPlace
        /// The substack's entries, narrowed to ``operation``.
        package let entries: [Entry]
    }

    /// The file's path, or the name of the text in messages.
    package let source: String
    /// The lines and substacks, in their order.
    package let entries: [Entry]

    /// All lines in their order, including the lines of substacks.
    package var lines: [StackLine] { Stack.lines(of: entries) }

    static func lines(of entries: [Entry]) -> [StackLine] {
        entries.flatMap { entry in
            switch entry {
            case .line(let line): [line]
            case .substack(let substack): lines(of: substack.entries)
            }
        }
    }

    /// Reads a stack from a text.
    ///
    /// - Parameters:
    ///   - source: the name of the text in messages.
    ///   - directories: the directories of included stacks.
    /// - Throws: ``Status/invalid`` with the file, the line and the expected syntax.
    package init(text: String, source: String, directories: StackDirectories) throws(TokenKeepError) {
        try self.init(ConfigurationFile(path: source, text: text), chain: [], directories: directories)
    }

    /// Reads a named stack: the user's file, the system's file, or for `default` the built-in text.
    ///
    /// - Throws: ``Status/invalid`` if there is no such stack, or the stack is malformed.
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

    /// Reads the stack file at a path. The file must be as safe as a file in the directories.
    ///
    /// - Throws: ``Status/invalid`` if there is no such file, or the file is unsafe or malformed.
    package init(path: String, directories: StackDirectories) throws(TokenKeepError) {
        guard let file = try ConfigurationFile(path: path) else {
            throw TokenKeepError(.invalid, "there is no file \(path)")
        }
        try self.init(file, chain: [], directories: directories)
    }

    private init(_ file: ConfigurationFile, chain: [String], directories: StackDirectories) throws(TokenKeepError) {
        var resolver = StackResolver(directories: directories)
        source = file.path
        entries = try resolver.entries(of: file, for: .any, chain: chain)
        guard !lines.isEmpty else {
            throw TokenKeepError(.invalid, "\(source) names no module", hint: "for example: any required vault")
        }
    }
}

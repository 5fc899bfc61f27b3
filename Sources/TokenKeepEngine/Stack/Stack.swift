package import TokenKeepCore

/// A parsed stack, in which every included stack is replaced by its entries.
package struct Stack: Sendable {
    /// An entry of a stack: a line, or a substack in place of a line.
    package enum Entry: Sendable {
        /// A line that names a module.
        case line(StackLine)
        /// A substack. If a line of a substack ends the operation, jumps or resets, it affects only the substack.
        case substack(Substack)
    }

    /// The entries of a stack that a `substack` line names. A jump counts them as one line.
    package struct Substack: Sendable {
        /// The stack's name.
        package let name: String
        /// The operation of the line that names the substack.
        package let operation: StackLine.Operation
        /// The file and line number of the line that names the substack.
        package let place: StackPlace
        /// The substack's entries that apply to ``operation``.
        package let entries: [Entry]
    }

    /// The path of the stack's file; for a stack given as text, the name of the text in messages.
    package let source: String
    /// The stack's lines and substacks, in their order.
    package let entries: [Entry]

    /// All lines, including those of substacks, in their order.
    package var lines: [StackLine] { Stack.lines(of: entries) }

    static func lines(of entries: [Entry]) -> [StackLine] {
        entries.flatMap { entry in
            switch entry {
            case .line(let line): [line]
            case .substack(let substack): lines(of: substack.entries)
            }
        }
    }

    /// Parses a stack given as text.
    ///
    /// - Parameters:
    ///   - source: the name of the text in messages.
    ///   - directories: the directories in which included stacks are searched.
    /// - Throws: ``Status/invalid``, naming the file, the line and the expected syntax.
    package init(text: String, source: String, directories: StackDirectories) throws(TokenKeepError) {
        try self.init(ConfigurationFile(path: source, text: text), chain: [], directories: directories)
    }

    /// Reads a named stack: the user's file, otherwise the system's file, otherwise the built-in text of `default`.
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

    /// Reads the stack file at a path, with the same checks as for a file in the stack directories.
    ///
    /// - Throws: ``Status/invalid`` if there is no such file, or if the file is malformed or writable by another user.
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

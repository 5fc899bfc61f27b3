import TokenKeepCore

/// Replaces each line that includes another stack by that stack's entries.
struct StackResolver {
    /// The maximum depth of included stacks.
    static let maximumDepth = 16
    /// The maximum number of lines of a stack, including the lines of included stacks.
    ///
    /// Without this limit, a few files that each include the next file twice would exhaust the memory.
    static let maximumLines = 1024

    let directories: StackDirectories
    private var lineCount = 0

    init(directories: StackDirectories) { self.directories = directories }

    /// The entries of a stack file, in which each included stack is replaced by its entries.
    ///
    /// - Parameters:
    ///   - operation: the operation of the including line. Lines for other operations are left out.
    ///   - chain: the names of the stacks that led to this file, from the outermost to the file's own.
    mutating func entries(
        of file: ConfigurationFile, for operation: StackLine.Operation, chain: [String]
    ) throws(TokenKeepError) -> [Stack.Entry] {
        var entries: [Stack.Entry] = []
        for statement in try StackParser.statements(file.text, source: file.path) {
            switch statement {
            case .module(let line):
                try count(at: line.place)
                if let line = line.narrowed(to: operation) { entries.append(.line(line)) }
            case .stack(let name, let own, let isSubstack, let place):
                try count(at: place)
                guard let narrowed = own.narrowed(to: operation) else { continue }
                let included = try included(name, for: narrowed, chain: chain, at: place)
                if isSubstack {
                    entries.append(
                        .substack(.init(name: name, operation: narrowed, place: place, entries: included)))
                } else {
                    entries += included
                }
            }
        }
        return entries
    }

    private mutating func included(
        _ name: String, for operation: StackLine.Operation, chain: [String], at place: StackPlace
    ) throws(TokenKeepError) -> [Stack.Entry] {
        let chain = chain + [name]
        guard !chain.dropLast().contains(name) else {
            throw invalid("expected no stack that includes itself: \(chain.joined(separator: " -> "))", at: place)
        }
        guard chain.count <= StackResolver.maximumDepth + 1 else {
            throw invalid(
                "expected stacks at most \(StackResolver.maximumDepth) deep: \(chain.joined(separator: " -> "))",
                at: place)
        }
        guard let file = try directories.file(of: name) else {
            throw invalid(
                "expected a stack that exists, and there is no \"\(name)\"", at: place,
                hint: "its file would be \(directories.path(of: name))")
        }
        return try entries(of: file, for: operation, chain: chain)
    }

    private mutating func count(at place: StackPlace) throws(TokenKeepError) {
        lineCount += 1
        guard lineCount <= StackResolver.maximumLines else {
            throw invalid("expected at most \(StackResolver.maximumLines) lines in all", at: place)
        }
    }

    private func invalid(_ message: String, at place: StackPlace, hint: String? = nil) -> TokenKeepError {
        TokenKeepError(.invalid, "\(place): \(message)", hint: hint)
    }
}

extension StackLine.Operation {
    /// The operation that both values have in common; nil if there is none. `any` includes all four operations.
    func narrowed(to operation: StackLine.Operation) -> StackLine.Operation? {
        if operation == .any || operation == self { return self }
        return self == .any ? operation : nil
    }
}

extension StackLine {
    /// A copy of this line that applies only to `operation`; nil if the line does not apply to `operation`.
    func narrowed(to operation: Operation) -> StackLine? {
        guard let narrowed = self.operation.narrowed(to: operation) else { return nil }
        return StackLine(
            operation: narrowed, control: control, module: module, arguments: arguments, mayBeMissing: mayBeMissing,
            place: place)
    }
}

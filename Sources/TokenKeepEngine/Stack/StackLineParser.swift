import TokenKeepCore

/// Parses the words of one line of a stack.
struct StackLineParser {
    private let source: String
    private var words: ArraySlice<StackWord>
    private var place: StackPlace

    /// - Parameter words: the words of the line, at least one.
    init(_ words: [StackWord], source: String) {
        self.source = source
        self.words = words[...]
        place = StackPlace(source: source, line: words.first?.line ?? 0)
    }

    mutating func statement() throws(TokenKeepError) -> StackParser.Statement {
        let first = place
        if let isSubstack = words.first.flatMap(StackLineParser.isSubstack) {
            words.removeFirst()
            return try stack(operation: .any, isSubstack: isSubstack, at: first)
        }
        let (operation, mayBeMissing) = try operation()
        if let isSubstack = words.first.flatMap(StackLineParser.isSubstack) {
            guard !mayBeMissing else { throw expected("no - before a line with \(words.first?.text ?? "")") }
            words.removeFirst()
            return try stack(operation: operation, isSubstack: isSubstack, at: first)
        }
        let control = try control()
        guard let module = take(), !module.text.isEmpty else { throw expected("a module after the control") }
        return .module(
            StackLine(
                operation: operation, control: control, module: module.text, arguments: words.map(\.text),
                mayBeMissing: mayBeMissing, place: first))
    }

    private mutating func operation() throws(TokenKeepError) -> (StackLine.Operation, mayBeMissing: Bool) {
        guard let word = take(), !word.isBracketed else { throw expectedOperation() }
        let mayBeMissing = word.text.hasPrefix("-")
        guard let operation = StackLine.Operation(rawValue: String(word.text.dropFirst(mayBeMissing ? 1 : 0))) else {
            throw expectedOperation()
        }
        return (operation, mayBeMissing)
    }

    private mutating func control() throws(TokenKeepError) -> StackLine.Control {
        guard let word = take() else { throw expectedControl() }
        if word.isBracketed { return StackLine.Control(kind: .actions(try actions(word.text))) }
        guard let control = ControlWord(rawValue: word.text) else { throw expectedControl() }
        return StackLine.Control(kind: .word(control))
    }

    private func actions(_ text: String) throws(TokenKeepError) -> StackActions {
        var named: [StackActions.Named] = []
        var others: StackAction?
        for pair in text.split(whereSeparator: \.isWhitespace) {
            guard let equals = pair.firstIndex(of: "=") else { throw expected("status=action in the brackets") }
            let name = String(pair[..<equals])
            guard let action = StackAction(word: String(pair[pair.index(after: equals)...])) else {
                throw expected(
                    "an action (ignore, ok, done, bad, die, reset, or a number from 1) after \(name.cutForMessage)=")
            }
            if name == "default" {
                guard others == nil else { throw expected("default once") }
                others = action
                continue
            }
            let status = try status(name, meets: action)
            guard !named.contains(where: { $0.status == status }) else { throw expected("\(name) once") }
            named.append(StackActions.Named(status: status, action: action))
        }
        guard !named.isEmpty || others != nil else { throw expected("status=action in the brackets") }
        return StackActions(named: named, others: others ?? .bad)
    }

    private func status(_ name: String, meets action: StackAction) throws(TokenKeepError) -> Status {
        guard let status = Status(word: name) else {
            throw expected("a status such as not_found, or default, in place of \(name.cutForMessage)")
        }
        guard !StackActions.endsEveryWalk(status) else {
            throw expected("no action for \(name), which ends every walk")
        }
        guard status != .ok || (action != .bad && action != .die) else {
            throw expected("no \(action) for ok: a success is no failure")
        }
        return status
    }

    private mutating func stack(
        operation: StackLine.Operation, isSubstack: Bool, at place: StackPlace
    ) throws(TokenKeepError) -> StackParser.Statement {
        guard let name = take(), !name.isBracketed, ModuleName.isValidFileName(name.text) else {
            throw expected("the name of a stack: 1 to 64 of a-z 0-9 . _ -, no . first")
        }
        guard words.isEmpty else { throw expected("nothing after the name of the stack") }
        return .stack(name: name.text, operation: operation, isSubstack: isSubstack, place: place)
    }

    private static func isSubstack(_ word: StackWord) -> Bool? {
        switch (word.text, word.isBracketed) {
        case ("include", false): false
        case ("substack", false): true
        default: nil
        }
    }

    /// Removes and returns the next word. Errors thrown afterwards name the line number of this word.
    private mutating func take() -> StackWord? {
        guard let word = words.popFirst() else { return nil }
        place = StackPlace(source: source, line: word.line)
        return word
    }

    private func expectedOperation() -> TokenKeepError {
        expected("an operation (load, save, clear, list, any)")
    }

    private func expectedControl() -> TokenKeepError {
        expected(
            "a control (required, requisite, sufficient, optional, [status=action ...]) after the operation"
        )
    }

    private func expected(_ what: String) -> TokenKeepError { .stackSyntax(expected: what, at: place) }
}

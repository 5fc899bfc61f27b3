package import TokenKeepCore

/// The effect of a module's answer: whether it can become the operation's result, and which module is asked next.
package enum StackAction: Sendable, Hashable, CustomStringConvertible {
    /// Ignores the module's answer, and asks the next module.
    case ignore
    /// Uses the module's answer, and asks the next module.
    case ok
    /// Uses the module's answer, and ends the operation or substack.
    case done
    /// Keeps the failure as a possible result of the operation, and asks the next module.
    case bad
    /// Keeps the failure as a possible result of the operation, and ends the operation or substack.
    case die
    /// Drops all previous answers and failures of the stack or substack, and asks the next module.
    case reset
    /// Skips this many lines of the stack. A success counts as an answer; a failure is ignored.
    case jump(Int)

    /// The action for a word of a stack; nil if the word is no action.
    package init?(word: String) {
        switch word {
        case "ignore": self = .ignore
        case "ok": self = .ok
        case "done": self = .done
        case "bad": self = .bad
        case "die": self = .die
        case "reset": self = .reset
        default:
            guard word.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let lines = Int(word), lines > 0
            else { return nil }
            self = .jump(lines)
        }
    }

    /// The word or number that stands for the action in a stack.
    package var description: String {
        switch self {
        case .ignore: "ignore"
        case .ok: "ok"
        case .done: "done"
        case .bad: "bad"
        case .die: "die"
        case .reset: "reset"
        case .jump(let lines): String(lines)
        }
    }

    /// Whether a failure with this action can become the operation's result.
    ///
    /// `ok` and `done` never turn a failure into a success: for a failure, `ok` means the same as `bad`, and `done`
    /// means the same as `die`.
    var countsFailure: Bool {
        switch self {
        case .ok, .done, .bad, .die: true
        case .ignore, .reset, .jump: false
        }
    }

    /// Whether a success with this action can become the operation's result.
    var countsSuccess: Bool {
        switch self {
        case .ok, .done, .jump: true
        case .ignore, .bad, .die, .reset: false
        }
    }

    /// Whether the action ends the operation, or only the substack that contains the line.
    var isEnd: Bool { self == .done || self == .die }
}

/// The actions of a stack line, one for each status of a module's answer.
package struct StackActions: Sendable, Equatable, CustomStringConvertible {
    /// A status, and the action that the stack's line assigns to it.
    package struct Named: Sendable, Equatable {
        package let status: Status
        package let action: StackAction
    }

    /// The statuses that the line names in brackets, with their actions, in the order of the line.
    package private(set) var named: [Named]
    /// The action for every failure that the line does not name.
    package let others: StackAction

    init(_ named: KeyValuePairs<Status, StackAction>, others: StackAction) {
        self.init(named: named.map { Named(status: $0.key, action: $0.value) }, others: others)
    }

    init(named: [Named], others: StackAction) {
        self.named = named
        self.others = others
    }

    /// The action that the line assigns to an answer with this status.
    package subscript(status: Status) -> StackAction {
        if StackActions.endsEveryWalk(status) { return .die }
        return named.first { $0.status == status }?.action ?? others
    }

    /// A copy with this action for a success, unless the line already names an action for a success.
    func naming(success action: StackAction) -> StackActions {
        if named.contains(where: { $0.status == .ok }) { return self }
        return StackActions(named: [Named(status: .ok, action: action)] + named, others: others)
    }

    /// Whether a failure is caused by the caller's request and not by the module, so that no other module is asked.
    static func endsEveryWalk(_ status: Status) -> Bool {
        switch status {
        case .invalid, .duplicate, .conflict, .forked: true
        default: false
        }
    }

    /// The line's actions in stack syntax: `[status=action … default=action]`.
    package var description: String {
        "[" + named.map { "\($0.status.word)=\($0.action) " }.joined() + "default=\(others)]"
    }
}

extension Status {
    /// The status in stack syntax, for example `not_found`.
    package var word: String { name.lowercased() }

    /// The status that a word of a stack names; nil if the word is no status.
    init?(word: String) {
        guard let status = Status.allCases.first(where: { $0.word == word }) else { return nil }
        self = status
    }
}

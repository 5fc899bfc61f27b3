package import TokenKeepCore

/// The effect of a module's answer on the walk.
package enum StackAction: Sendable, Hashable, CustomStringConvertible {
    /// The answer does not count, and the walk goes on.
    case ignore
    /// The answer counts, and the walk goes on.
    case ok
    /// The answer counts, and the walk ends.
    case done
    /// The failure becomes the operation's result, and the walk goes on.
    case bad
    /// The failure counts, and the walk ends.
    case die
    /// All counted answers and failures are forgotten, and the walk goes on.
    case reset
    /// Skips this many lines. A success counts as the answer, a failure does not.
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

    /// The word or number for the action in a stack.
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

    /// Whether a failure that meets this action can become the answer of the walk.
    ///
    /// `ok` and `done` never turn a failure into a success: for a failure they mean `bad` and `die`.
    var countsFailure: Bool {
        switch self {
        case .ok, .done, .bad, .die: true
        case .ignore, .reset, .jump: false
        }
    }

    /// Whether a success that meets this action can become the answer of the walk.
    var countsSuccess: Bool {
        switch self {
        case .ok, .done, .jump: true
        case .ignore, .bad, .die, .reset: false
        }
    }

    /// Whether the action ends the walk or the substack of the line.
    var isEnd: Bool { self == .done || self == .die }
}

/// The action for each status.
package struct StackActions: Sendable, Equatable, CustomStringConvertible {
    /// A status and its action.
    package struct Named: Sendable, Equatable {
        package let status: Status
        package let action: StackAction
    }

    /// The statuses named in brackets, in their order, with their actions.
    package private(set) var named: [Named]
    /// The action of all other failures.
    package let others: StackAction

    init(_ named: KeyValuePairs<Status, StackAction>, others: StackAction) {
        self.init(named: named.map { Named(status: $0.key, action: $0.value) }, others: others)
    }

    init(named: [Named], others: StackAction) {
        self.named = named
        self.others = others
    }

    /// The action for a status.
    package subscript(status: Status) -> StackAction {
        if StackActions.endsEveryWalk(status) { return .die }
        return named.first { $0.status == status }?.action ?? others
    }

    /// These actions, with `action` for a success if no action is named for a success.
    func naming(success action: StackAction) -> StackActions {
        if named.contains(where: { $0.status == .ok }) { return self }
        return StackActions(named: [Named(status: .ok, action: action)] + named, others: others)
    }

    /// Whether the status concerns the call rather than the module: no other module would answer differently.
    static func endsEveryWalk(_ status: Status) -> Bool {
        switch status {
        case .invalid, .duplicate, .conflict, .forked: true
        default: false
        }
    }

    /// `[status=action … default=action]`, in the syntax of a stack.
    package var description: String {
        "[" + named.map { "\($0.status.word)=\($0.action) " }.joined() + "default=\(others)]"
    }
}

extension Status {
    /// The status in the syntax of a stack, for example `not_found`.
    package var word: String { name.lowercased() }

    /// The status for a word of a stack; nil if the word is no status.
    init?(word: String) {
        guard let status = Status.allCases.first(where: { $0.word == word }) else { return nil }
        self = status
    }
}

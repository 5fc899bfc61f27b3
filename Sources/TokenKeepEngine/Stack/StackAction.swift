package import TokenKeepCore

/// What a walk does with a module's answer.
package enum StackAction: Sendable, Hashable, CustomStringConvertible {
    /// The answer does not count, and the walk goes on.
    case ignore
    /// The answer counts, and the walk goes on.
    case ok
    /// The answer counts, and the walk ends.
    case done
    /// The failure counts, and the walk goes on.
    case bad
    /// The failure counts, and the walk ends.
    case die
    /// What counted before is forgotten, and the walk goes on.
    case reset
    /// A success counts, a failure does not, and the walk goes on behind the next lines, this many.
    case jump(Int)

    /// The action that a stack spells so, or nil.
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

    /// The word or number of a stack.
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
    /// `ok` and `done` never make a success of it: then they are `bad` and `die`.
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

    /// Whether the walk, or the substack that the line stands in, ends.
    var isEnd: Bool { self == .done || self == .die }
}

/// Which action follows each status.
package struct StackActions: Sendable, Equatable, CustomStringConvertible {
    /// A status and its action.
    package struct Named: Sendable, Equatable {
        package let status: Status
        package let action: StackAction
    }

    /// The actions of the statuses that are named, in their order.
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

    /// The action of a status.
    package subscript(status: Status) -> StackAction {
        if StackActions.endsEveryWalk(status) { return .die }
        return named.first { $0.status == status }?.action ?? others
    }

    /// The same, where a success that is not named meets `action`.
    func naming(success action: StackAction) -> StackActions {
        if named.contains(where: { $0.status == .ok }) { return self }
        return StackActions(named: [Named(status: .ok, action: action)] + named, others: others)
    }

    /// Whether the status speaks of the call rather than of the module: no other module would answer differently.
    static func endsEveryWalk(_ status: Status) -> Bool {
        switch status {
        case .invalid, .duplicate, .conflict, .forked: true
        default: false
        }
    }

    /// `[status=action … default=action]`, as a stack spells it.
    package var description: String {
        "[" + named.map { "\($0.status.word)=\($0.action) " }.joined() + "default=\(others)]"
    }
}

extension Status {
    /// The status as a stack spells it: `not_found`.
    package var word: String { name.lowercased() }

    /// The status that a stack spells so, or nil.
    init?(word: String) {
        guard let status = Status.allCases.first(where: { $0.word == word }) else { return nil }
        self = status
    }
}

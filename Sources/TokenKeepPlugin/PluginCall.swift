import TokenKeepCore

/// One call of a module, and what the module told of it. It lives until the module returns, however long its caller is
/// gone by then.
final class PluginCall: Sendable {
    /// What a module may give in answer. A removal and a handle are no items, but each has failures of its own.
    enum Expected {
        case nothing, item, list, removal, handle
    }

    private struct Told {
        var isOver = false
        var expected = Expected.handle
        var hasWords = false
        var words: String?
        var notes: [String] = []
        var items: [AnsweredItem] = []
        var fault: TokenKeepError?
    }

    private static let mostItems = 100_000
    private static let mostNotes = 32

    let deadline: Deadline
    let promptsAllowed: Bool
    let arena: SecretArena?
    /// Whether errors repeat the module's own words.
    private let repeatsWords: Bool
    private let told = Guarded(Told())

    init(_ call: CallContext, arena: SecretArena?, repeatsWords: Bool = false) {
        deadline = call.deadline
        promptsAllowed = call.promptsAllowed
        self.arena = arena
        self.repeatsWords = repeatsWords
    }

    /// Whether the caller has gone.
    var isOver: Bool { deadline.hasPassed || told.withLock { $0.isOver } }

    /// Notes that the caller has gone.
    func end() { told.withLock { $0.isOver = true } }

    /// Begins another step of the same call.
    ///
    /// - Throws: ``Status/timedOut`` where the caller has gone: what was given up is not begun.
    func begin(_ expected: Expected) throws(TokenKeepError) {
        guard !isOver else { throw .late }
        told.withLock { told in
            told = Told(isOver: told.isOver, expected: expected)
        }
    }

    /// Takes why the call fails, in the module's words.
    ///
    /// A module can put a secret into them, whole, in part or encoded: they are dropped, unless it is being checked.
    func set(error text: UnsafeRawBufferPointer) {
        told.withLock { told in
            told.hasWords = true
            if repeatsWords { told.words = ForeignText.line(String(decoding: text, as: UTF8.self)) }
        }
    }

    func note(_ text: String) {
        told.withLock { if $0.notes.count < PluginCall.mostNotes { $0.notes.append(text) } }
    }

    /// Takes an item, or why it is none. `read` is told whether its secret is wanted.
    func answer(_ read: (_ withSecret: Bool) throws(TokenKeepError) -> AnsweredItem) {
        let (count, isFaulty, expected) = told.withLock { ($0.items.count, $0.fault != nil, $0.expected) }
        let most = expected == .list ? PluginCall.mostItems : 1
        guard !isFaulty, count < most else {
            return told.withLock { $0.fault = $0.fault ?? .foreign("more than \(most) items") }
        }
        do throws(TokenKeepError) {
            let item = try read(expected == .item)
            told.withLock { $0.items.append(item) }
        } catch {
            told.withLock { $0.fault = error }
        }
    }

    var notes: [String] { told.withLock { $0.notes } }

    /// What the module answered with its status.
    ///
    /// - Throws: the status where it is a failure, ``Status/corrupt`` where the answer is none.
    func items(after status: Status, expecting expected: Expected) throws(TokenKeepError) -> [AnsweredItem] {
        let told = told.withLock { $0 }
        if let fault = told.fault { throw fault }
        guard status == .ok else {
            throw TokenKeepError(
                try PluginCall.meaning(of: status, expected), told.words ?? "the module answered \(status.name)",
                hint: told.hasWords && told.words == nil ? PluginCall.whereWordsAre : nil)
        }
        let items = told.items
        switch expected {
        case .nothing, .removal, .handle: guard items.isEmpty else { throw .foreign("an item that nobody asked for") }
        case .item: guard items.count == 1 else { throw .foreign("OK and \(items.count) items for one") }
        case .list: break
        }
        return items
    }

    private static let whereWordsAre =
        "the module says why, which only a check shows: tokenkeep module check MODULE [ARGUMENT …]"

    /// NOT_FOUND is believed only of an item that was asked for: elsewhere it would make an outage look like absence.
    private static func meaning(of status: Status, _ expected: Expected) throws(TokenKeepError) -> Status {
        guard status == .notFound else { return status }
        switch expected {
        case .item, .removal: return .notFound
        case .handle: return .unavailable
        case .nothing, .list: throw .foreign("NOT_FOUND where nothing can be missing")
        }
    }
}

extension TokenKeepError {
    static let late = TokenKeepError(.timedOut, "the module did not answer in time")

    /// A module's answer that is none.
    static func foreign(_ words: String) -> TokenKeepError {
        TokenKeepError(.corrupt, "the module answered with \(words)")
    }
}

extension Status {
    /// Whether a module may say so. What speaks of the call, not of the module, would end every walk.
    func mayBeSaid(opening: Bool) -> Bool {
        switch self {
        case .ok, .notFound, .locked, .unavailable, .timedOut, .cancelled, .denied, .policy, .corrupt, .unsupported,
            .io,
            .busy:
            true
        case .invalid: opening
        case .expired, .conflict, .duplicate, .forked, .internal, .needsLogin: false
        }
    }
}

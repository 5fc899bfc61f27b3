import TokenKeepCore

/// One call of a module, with the data that the module has reported. Exists until the module returns, even if the
/// caller has stopped waiting.
final class PluginCall: Sendable {
    /// The kind of answer that a call expects. A removal and a handle return no items, but may fail in ways of their
    /// own.
    enum Expected {
        case nothing, item, list, removal, handle
    }

    private struct Told {
        var isOver = false
        var expected = Expected.handle
        var hasWords = false
        var words: String?
        var remarks: [String] = []
        var items: [AnsweredItem] = []
        var fault: TokenKeepError?
    }

    private static let mostItems = 100_000
    private static let mostRemarks = 32

    let deadline: Deadline
    let promptsAllowed: Bool
    /// Whether the errors of this call quote the module's messages.
    private let repeatsWords: Bool
    private let told = MutexGuarded(Told())

    init(_ call: CallContext, repeatsWords: Bool = false) {
        deadline = call.deadline
        promptsAllowed = call.promptsAllowed
        self.repeatsWords = repeatsWords
    }

    /// Whether the caller has stopped waiting.
    var isOver: Bool { deadline.hasPassed || told.withLock { $0.isOver } }

    /// Records that the caller has stopped waiting.
    func end() { told.withLock { $0.isOver = true } }

    /// Begins another step of the call.
    ///
    /// - Throws: ``Status/timedOut`` if the caller has stopped waiting, so that no further step begins.
    func begin(_ expected: Expected) throws(TokenKeepError) {
        guard !isOver else { throw .late }
        told.withLock { told in
            told = Told(isOver: told.isOver, expected: expected)
        }
    }

    /// Stores the module's message about its failure.
    ///
    /// The message is discarded unless the module is being checked, because a module can put a secret into the message:
    /// whole, in part or encoded.
    func set(error text: UnsafeRawBufferPointer) {
        told.withLock { told in
            told.hasWords = true
            if repeatsWords { told.words = ForeignText.line(String(decoding: text, as: UTF8.self)) }
        }
    }

    /// Adds a remark on the module's condition. Discards the remark if there are already ``mostRemarks``.
    func addRemark(_ text: String) {
        told.withLock { if $0.remarks.count < PluginCall.mostRemarks { $0.remarks.append(text) } }
    }

    /// Stores the item that `read` returns, or the error that it throws. The argument of `read` is true if the secret
    /// is needed.
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

    /// The module's remarks on its condition.
    var remarks: [String] { told.withLock { $0.remarks } }

    /// The items of the module's answer.
    ///
    /// - Throws: the module's status, if it is a failure; ``Status/corrupt`` if the answer is invalid.
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

    /// The status to report to the caller.
    ///
    /// NOT_FOUND is accepted only for a requested item. For a handle it becomes ``Status/unavailable``, because an
    /// outage would otherwise look like a missing item.
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

    /// Makes the error for an invalid answer of a module. `words` describe the invalid part.
    static func foreign(_ words: String) -> TokenKeepError {
        TokenKeepError(.corrupt, "the module answered with \(words)")
    }
}

extension Status {
    /// Whether a module may return this status.
    ///
    /// A status that describes the call instead of the module is refused, because it would end the walk over the stack.
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

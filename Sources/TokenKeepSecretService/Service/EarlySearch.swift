import TokenKeepCore

/// The first searches of a call, sent while a new link is made.
///
/// The service answers these searches while libsecret makes the session's keys, so that the first call of a program
/// waits only once for the session and the searches.
final class EarlySearch {
    private let searches: [[String: String]]
    private let asksCollection: Bool
    private var sent: [BusConnection.Sent]?
    private var replies: [Reply]?
    private var lockReply: Reply?

    /// - Parameters:
    ///   - searches: the attributes of each search.
    ///   - asksCollection: whether to query as well whether the default collection is locked.
    init(_ searches: [[String: String]], asksCollection: Bool = false) {
        self.searches = searches
        self.asksCollection = asksCollection
    }

    /// Makes the searches for an item.
    convenience init(for name: ItemName, _ sealing: ItemSealing) { self.init(sealing.searches(for: name)) }

    /// Sends the searches.
    func start(over connection: BusConnection, of owner: String) {
        var calls = searches.map { ItemSearch.searchItems($0, of: owner) }
        if asksCollection { calls.append(KeyringLocks.isDefaultCollectionLocked(of: owner)) }
        sent = connection.start(calls)
    }

    /// Waits for the replies. Must run in the context in which the calls were sent.
    func finish(
        over connection: BusConnection, in context: borrowing MainContext, until deadline: Deadline
    ) throws(TokenKeepError) {
        guard let sent else { return }
        var replies = try connection.replies(to: sent, in: context, until: deadline)
        if asksCollection { lockReply = replies.popLast() }
        self.replies = replies
    }

    func cancel(over connection: BusConnection) { connection.cancel(sent ?? []) }

    /// Returns the replies to these searches once. Later calls return nil, because a later search must find later
    /// changes.
    func take(_ searches: [[String: String]]) -> [Reply]? {
        defer { replies = nil }
        return searches == self.searches ? replies : nil
    }

    /// Returns the reply about the default collection once. Later calls return nil.
    func takeLockReply() -> Reply? {
        defer { lockReply = nil }
        return lockReply
    }
}

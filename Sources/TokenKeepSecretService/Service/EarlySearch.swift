import TokenKeepCore

/// The search for a call's item, sent while the service opens the session of a new link.
///
/// A program that makes a single call then waits for the session and the search at the same time.
final class EarlySearch {
    private let name: ItemName
    private let sealing: ItemSealing
    /// The attributes of each search that was sent.
    private var searches: [[String: String]] = []
    private var sent: [BusConnection.Sent]?
    private var replies: [Reply]?

    init(for name: ItemName, _ sealing: ItemSealing) {
        self.name = name
        self.sealing = sealing
    }

    /// Sends the search. Does nothing if the search was sent already, for example because the session is requested
    /// again.
    func start(over connection: BusConnection, of owner: String) {
        guard sent == nil else { return }
        searches = sealing.searches(for: name)
        sent = connection.start(searches.map { ItemSearch.searchItems($0, of: owner) })
    }

    /// Waits for the replies. Must run in the context in which the search was sent.
    func finish(
        over connection: BusConnection, in context: borrowing MainContext, until deadline: Deadline
    ) throws(TokenKeepError) {
        guard let sent else { return }
        replies = try connection.replies(to: sent, in: context, until: deadline)
    }

    func cancel(over connection: BusConnection) { connection.cancel(sent ?? []) }

    /// Takes the replies to these searches. A second call returns nil, because a later search must see later changes.
    func take(_ searches: [[String: String]]) -> [Reply]? {
        defer { replies = nil }
        return searches == self.searches ? replies : nil
    }
}

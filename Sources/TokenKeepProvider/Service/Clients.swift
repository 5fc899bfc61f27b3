import TokenKeepCore

/// The programs on the bus that hold something of the service: sessions, and secrets of calls that are not answered.
struct Clients {
    static let sessionLimit = 64
    static let promptLimit = 64

    private(set) var sessions: [String: SecretSession] = [:]
    let unanswered = Unanswered()

    func session(_ path: String) -> SecretSession? { sessions[path] }

    func sessionCount(of client: String) -> Int { sessions.values.reduce(0) { $0 + ($1.owner == client ? 1 : 0) } }

    mutating func add(_ session: SecretSession, at path: String) { sessions[path] = session }
    mutating func remove(session path: String) { sessions[path] = nil }

    /// Forgets a client that left the bus.
    mutating func remove(_ client: String) { sessions = sessions.filter { $0.value.owner != client } }
}

/// Counts the secrets of each client whose calls are not answered yet.
final class Unanswered {
    private static let limit = 8 << 20
    private var bytes: [String: Int] = [:]

    /// Counts a secret until the result is released.
    ///
    /// - Throws: `LimitsExceeded` if the client has too many bytes.
    func hold(_ count: Int, of client: String) throws(Refusal) -> Holding {
        let present = bytes[client] ?? 0
        guard present + count <= Unanswered.limit else {
            throw .limit("more than \(Unanswered.limit) bytes of your secrets are not answered yet")
        }
        bytes[client] = present + count
        return Holding(self, count, client)
    }

    fileprivate func release(_ count: Int, of client: String) {
        guard let present = bytes[client] else { return }
        bytes[client] = present > count ? present - count : nil
    }
}

/// The count of one secret among those that are not answered.
final class Holding {
    private let ledger: Unanswered
    private let count: Int
    private let client: String

    init(_ ledger: Unanswered, _ count: Int, _ client: String) {
        self.ledger = ledger
        self.count = count
        self.client = client
    }

    deinit { ledger.release(count, of: client) }
}

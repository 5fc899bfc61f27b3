import TokenKeepCore

/// The clients' sessions and unanswered calls, with their limits.
struct Clients {
    static let sessionLimit = 64
    static let promptLimit = 64

    private(set) var sessions: [String: SecretSession] = [:]
    /// The number of each client's sessions, with those whose key is still being agreed on.
    private var counts: [String: Int] = [:]
    let unanswered = Unanswered()

    func session(_ path: String) -> SecretSession? { sessions[path] }

    /// Counts a session that a client is opening.
    ///
    /// - Throws: `LimitsExceeded` if the client has too many.
    mutating func reserve(for client: String) throws(Refusal) {
        guard counts[client, default: 0] < Clients.sessionLimit else {
            throw .limit("you have \(Clients.sessionLimit) sessions")
        }
        counts[client, default: 0] += 1
    }

    /// Subtracts a session that ``reserve(for:)`` counted.
    mutating func release(for client: String) {
        guard let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }

    /// Adds a session counted by ``reserve(for:)``, unless its client has left the bus.
    mutating func add(_ session: SecretSession, at path: String) {
        if counts[session.owner] != nil { sessions[path] = session }
    }

    mutating func remove(session path: String) {
        if let session = sessions.removeValue(forKey: path) { release(for: session.owner) }
    }

    /// Removes a client that left the bus, with its sessions.
    mutating func remove(_ client: String) {
        guard counts.removeValue(forKey: client) != nil else { return }
        sessions = sessions.filter { $0.value.owner != client }
    }
}

/// Counts the bytes of each client's unanswered calls.
final class Unanswered {
    static let limit = 8 << 20
    private var bytes: [String: Int] = [:]

    /// Adds a call's bytes to its client's count, until the result is released.
    ///
    /// - Throws: `LimitsExceeded` if the client's unanswered calls would exceed ``limit`` bytes.
    func hold(_ count: Int, of client: String) throws(Refusal) -> Holding {
        let present = bytes[client] ?? 0
        guard present + count <= Unanswered.limit else {
            throw .limit("more than \(Unanswered.limit) bytes of your calls are not answered yet")
        }
        bytes[client] = present + count
        return Holding(self, count, client)
    }

    fileprivate func release(_ count: Int, of client: String) {
        guard let present = bytes[client] else { return }
        bytes[client] = present > count ? present - count : nil
    }
}

/// One call's bytes in its client's count. They are subtracted when this object is released.
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

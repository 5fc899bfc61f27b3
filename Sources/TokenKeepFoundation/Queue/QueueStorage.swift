import Foundation
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords
import TokenKeepSession

/// The items of one account's queue in the records of the vault: a head for each request, and parts for a long body.
///
/// The head is written last and cleared first: a request is in the queue if and only if its head exists. Each function
/// blocks, and runs under the queue's lock, which excludes other threads and processes.
final class QueueStorage: Sendable {
    typealias Engine = SessionEngine

    static let service = ItemName.queueService

    /// The result of ``add(_:_:)``.
    enum Added {
        case entry(QueueEntry)
        /// The queue has too many requests.
        case tooMany
        /// The queue's requests would have too many bytes.
        case tooLong
        /// Nobody is signed in.
        case signedOut
    }

    /// A request that is to be added.
    struct Addition: Sendable {
        let head: SecretBytes
        let parts: [SecretBytes]
        let end: Int64
        let outlivesLogout: Bool

        var bytes: Int { parts.reduce(head.count) { $0 + $1.count } }
    }

    private let level: AccessLevel
    /// Called between any two steps. Tests end the process there.
    private let onStep: @Sendable () -> Void
    /// The requests that were read last, and the queue's change mark at that time. While the mark has this value, the
    /// requests are up to date.
    private let known = MutexGuarded<(changeMark: UInt64, entries: [QueueEntry])?>(nil)

    init(level: UInt32, onStep: @escaping @Sendable () -> Void) {
        self.level = AccessLevel(rawValue: level) ?? .afterFirstUnlock
        self.onStep = onStep
    }

    /// Adds a request at the end of the queue. When the function returns, the request survives a loss of power.
    func add(_ addition: Addition, _ engine: Engine) throws(TokenKeepError) -> Added {
        try locked(engine) { queue throws(TokenKeepError) in
            let entries = try present(queue)
            guard let logout = try LastLogout(of: engine), !logout.isSignedOut else { return .signedOut }
            guard entries.count < QueueLimits.requests else { return .tooMany }
            guard entries.reduce(addition.bytes, { $0 + $1.bytes }) <= QueueLimits.bytes else { return .tooLong }
            let last = entries.last?.sequence ?? 0
            guard last < QueueLimits.sequence else {
                throw TokenKeepError(.corrupt, "the last request of the queue has no successor", hint: "cancel it")
            }
            let entry = QueueEntry(
                id: Hexadecimal.text(RandomBytes.make(16)), sequence: last + 1, bytes: addition.bytes,
                parts: addition.parts.count, end: addition.end, logoutMark: logout.mark,
                outlivesLogout: addition.outlivesLogout)
            beginChange(queue)
            for (number, part) in addition.parts.enumerated() {
                try save(part, entry.account(ofPart: number), entry.attributesOfParts(session: queue.session), queue)
            }
            try save(addition.head, entry.id, entry.attributes(session: queue.session), queue)
            endChange(queue, entries + [entry])
            return .entry(entry)
        }
    }

    /// The requests in their order, without those of sessions that have ended.
    func entries(_ engine: Engine) throws(TokenKeepError) -> [QueueEntry] {
        try locked(engine) { queue throws(TokenKeepError) in try present(queue) }
    }

    /// The items of a request: the head, then the parts; nil if the request has left the queue.
    func content(of entry: QueueEntry, _ engine: Engine) throws(TokenKeepError) -> [SecretBytes]? {
        try locked(engine) { queue throws(TokenKeepError) in
            guard try present(queue).contains(entry) else { return nil }
            guard let head = try load(entry.id, queue) else {
                // Another program has cleared the item without a change of the queue's mark.
                known.withLock { $0 = nil }
                guard try !present(queue).contains(entry) else { throw incomplete(entry) }
                return nil
            }
            var content = [head]
            for number in 0..<entry.parts {
                guard let part = try load(entry.account(ofPart: number), queue) else { throw incomplete(entry) }
                content.append(part)
            }
            return content
        }
    }

    /// Removes the requests that `isMeant` chooses.
    ///
    /// - Returns: the number of removed requests, and the requests that are left.
    func remove(
        _ engine: Engine, where isMeant: (QueueEntry) -> Bool
    ) throws(TokenKeepError) -> (removed: Int, left: [QueueEntry]) {
        try locked(engine) { queue throws(TokenKeepError) in
            let entries = try present(queue)
            let left = try clear(among: entries, queue, where: isMeant)
            return (entries.count - left.count, left)
        }
    }

    /// Tells tests that an answer has arrived.
    func didAnswer() { onStep() }

    /// The right to send the requests; nil if another process or object has the right. Does not wait.
    func sendingRight(_ engine: Engine) throws(TokenKeepError) -> SendingRight? {
        let call = try engine.begin()
        let limited = CallContext(deadline: call.deadline.within(milliseconds: 0))
        let place = try Queue(engine, call).place
        guard let lock = try SessionLock.acquire(.refresh, of: place, engine.store.records, limited) else { return nil }
        return SendingRight(lock)
    }

    /// The right of one object to send the requests of a queue. Ends with the last reference, or with the process.
    final class SendingRight: Sendable {
        private let lock: SessionLock

        init(_ lock: consuming SessionLock) { self.lock = lock }
    }
}

extension QueueStorage {
    /// The queue during one call.
    private struct Queue {
        let engine: Engine
        let call: CallContext
        let vault: VaultModule
        /// The ID of the session's name, an attribute of the items.
        let session: String
        /// The name of the locks and of the change mark.
        let place: ItemName
        /// The ID of `place`, by which the change mark is found.
        let placeID: [UInt8]

        init(_ engine: Engine, _ call: CallContext) throws(TokenKeepError) {
            self.engine = engine
            self.call = call
            let records = engine.store.records
            let files = SessionFiles(records)
            vault = VaultModule(records)
            session = Hexadecimal.text(try files.id(of: engine.name, call))
            place = try ItemName(
                namespace: engine.store.namespace, service: QueueStorage.service, account: "lock of \(session)")
            placeID = try files.id(of: place, call)
        }
    }

    private func locked<Value>(
        _ engine: Engine, _ body: (Queue) throws(TokenKeepError) -> Value
    ) throws(TokenKeepError) -> Value {
        let call = try engine.begin()
        let queue = try Queue(engine, call)
        guard let lock = try SessionLock.acquire(.change, of: queue.place, engine.store.records, call) else {
            throw TokenKeepError(
                .busy, "another process is changing the queue of \(engine.name)", hint: "try again")
        }
        let value = try body(queue)
        _ = consume lock
        return value
    }

    /// The requests in their order. Clears requests that a logout has ended, and parts that a killed process has left.
    private func present(_ queue: Queue) throws(TokenKeepError) -> [QueueEntry] {
        let changeMark = queue.engine.store.changeMarks.value(of: queue.placeID)
        let listed: [QueueEntry]
        if let changeMark, let known = known.withLock({ $0 }), known.changeMark == changeMark {
            listed = known.entries
        } else {
            listed = try list(queue)
            if let changeMark { known.withLock { $0 = (changeMark, listed) } }
        }
        guard let mark = try LastLogout(of: queue.engine)?.mark else { return listed }
        return try clear(among: listed, queue) { !$0.outlivesLogout && $0.logoutMark != mark }
    }

    /// Clears the requests that `isMeant` chooses, and returns all other requests. If none is chosen, nothing changes.
    private func clear(
        among entries: [QueueEntry], _ queue: Queue, where isMeant: (QueueEntry) -> Bool
    ) throws(TokenKeepError) -> [QueueEntry] {
        let meant = entries.filter(isMeant)
        guard !meant.isEmpty else { return entries }
        let left = entries.filter { !isMeant($0) }
        beginChange(queue)
        for entry in meant { try clear(entry, queue) }
        endChange(queue, left)
        return left
    }

    private func list(_ queue: Queue) throws(TokenKeepError) -> [QueueEntry] {
        let listing = try queue.vault.list(
            namespace: queue.engine.store.namespace, service: QueueStorage.service, queue.call)
        // A damaged record may belong to any item of the vault, so it does not stop the queue.
        if let problem = listing.problems.first(where: { $0.status != .corrupt }) { throw problem }
        let entries = listing.items.compactMap { QueueEntry($0, session: queue.session) }
        // If an item cannot be read, it may be the head of a part that seems to have none.
        if listing.problem == nil { try clearOrphans(among: listing.items, of: entries, queue) }
        return entries.sorted { ($0.sequence, $0.id) < ($1.sequence, $1.id) }
    }

    /// Clears the parts whose head does not exist.
    private func clearOrphans(
        among items: [ItemDetails], of entries: [QueueEntry], _ queue: Queue
    ) throws(TokenKeepError) {
        let heads = Set(entries.map(\.id))
        for item in items {
            guard let head = QueueEntry.head(ofPart: item, session: queue.session), !heads.contains(head) else {
                continue
            }
            _ = try queue.vault.clear(item.name, ifVersion: nil, queue.call)
        }
    }

    /// Makes other processes list the requests again, even if this process is killed before ``endChange(_:_:)``.
    private func beginChange(_ queue: Queue) {
        known.withLock { $0 = nil }
        queue.engine.store.changeMarks.change(queue.placeID)
        onStep()
    }

    private func endChange(_ queue: Queue, _ entries: [QueueEntry]) {
        guard let changeMark = queue.engine.store.changeMarks.value(of: queue.placeID) else { return }
        known.withLock { $0 = (changeMark, entries) }
    }

    private func save(
        _ secret: SecretBytes, _ account: String, _ attributes: ItemAttributes, _ queue: Queue
    ) throws(TokenKeepError) {
        let request = try SaveRequest(
            name: name(account, queue), secret: secret, accessLevel: level,
            label: "request for \(queue.engine.name.defaultLabel)", attributes: attributes)
        _ = try queue.vault.save(request, queue.call)
        onStep()
    }

    /// The secret of an item; nil if the item does not exist.
    private func load(_ account: String, _ queue: Queue) throws(TokenKeepError) -> SecretBytes? {
        do throws(TokenKeepError) {
            return try queue.vault.load(name(account, queue), queue.call).secret
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    private func incomplete(_ entry: QueueEntry) -> TokenKeepError {
        TokenKeepError(.corrupt, "the request \(entry.id) of the queue is incomplete", hint: "cancel it")
    }

    private func clear(_ entry: QueueEntry, _ queue: Queue) throws(TokenKeepError) {
        for account in [entry.id] + (0..<entry.parts).map(entry.account(ofPart:)) {
            _ = try queue.vault.clear(name(account, queue), ifVersion: nil, queue.call)
            onStep()
        }
    }

    private func name(_ account: String, _ queue: Queue) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: queue.engine.store.namespace, service: QueueStorage.service, account: account)
    }
}

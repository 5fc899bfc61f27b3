import Foundation
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords
import TokenKeepSession

/// Reads and writes the items of one account's queue in the vault. Each request has a head item, and part items if its
/// body is long.
///
/// The head is written last and cleared first, so a request is in the queue if and only if its head exists. Each
/// function blocks and holds the queue's lock, which excludes other threads and processes.
final class QueueStorage: Sendable {
    typealias Engine = SessionEngine

    static let service = ItemName.queueService

    /// The result of ``add(_:_:)``.
    enum Added {
        case entry(QueueEntry)
        /// The queue already has the maximum number of requests.
        case tooMany
        /// The queue's requests would exceed the maximum number of bytes.
        case tooLong
        /// Nobody is signed in.
        case signedOut
    }

    /// The contents of a request to add.
    struct Addition: Sendable {
        let head: SecretBytes
        let parts: [SecretBytes]
        let end: Int64
        let outlivesLogout: Bool

        var bytes: Int { parts.reduce(head.count) { $0 + $1.count } }
    }

    private let level: AccessLevel
    /// Called between any two steps of a change. Tests end the process at these points.
    private let onStep: @Sendable () -> Void
    /// The requests as last listed, with the queue's change mark from before the listing. They are up to date as long
    /// as the mark is unchanged.
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

    /// The queued requests in order, without those of ended sessions.
    func entries(_ engine: Engine) throws(TokenKeepError) -> [QueueEntry] {
        try locked(engine) { queue throws(TokenKeepError) in try present(queue) }
    }

    /// The secrets of a request's items, the head first; nil if the request has left the queue.
    func content(of entry: QueueEntry, _ engine: Engine) throws(TokenKeepError) -> [SecretBytes]? {
        try locked(engine) { queue throws(TokenKeepError) in
            guard try present(queue).contains(entry) else { return nil }
            guard let head = try load(entry.id, queue) else {
                // Another program has cleared the head without changing the queue's mark, so ``known`` is outdated and
                // the queue is listed again.
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

    /// Removes the requests for which `isMeant` returns true.
    ///
    /// - Returns: the number of removed requests, and the remaining requests.
    func remove(
        _ engine: Engine, where isMeant: (QueueEntry) -> Bool
    ) throws(TokenKeepError) -> (removed: Int, left: [QueueEntry]) {
        try locked(engine) { queue throws(TokenKeepError) in
            let entries = try present(queue)
            let left = try clear(among: entries, queue, where: isMeant)
            return (entries.count - left.count, left)
        }
    }

    /// Notifies tests that a response has arrived.
    func didAnswer() { onStep() }

    /// Acquires the right to send the requests; nil if another process or object has the right. Does not wait.
    func sendingRight(_ engine: Engine) throws(TokenKeepError) -> SendingRight? {
        let call = try engine.begin()
        let limited = CallContext(deadline: call.deadline.within(milliseconds: 0))
        let place = try Queue(engine, call).place
        guard let lock = try SessionLock.acquire(.refresh, of: place, engine.store.records, limited) else { return nil }
        return SendingRight(lock)
    }

    /// The right of one object to send a queue's requests. It is released with its last reference, or when the process
    /// ends.
    final class SendingRight: Sendable {
        private let lock: SessionLock

        init(_ lock: consuming SessionLock) { self.lock = lock }
    }
}

extension QueueStorage {
    /// The names and handles of the queue that one call uses.
    private struct Queue {
        let engine: Engine
        let call: CallContext
        let vault: VaultModule
        /// The ID of the session's name, which is an attribute of the items.
        let session: String
        /// The name by which the queue's locks and its change mark are found.
        let place: ItemName
        /// The ID of `place`, which identifies the queue's change mark.
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

    /// The queued requests in order. Also clears the requests of ended sessions, and parts without a head that a killed
    /// process left behind.
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

    /// Clears the requests for which `isMeant` returns true, and returns all other requests. Writes nothing if there
    /// are no such requests.
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
        // A damaged record may belong to any item of the vault and need not concern the queue, so it is ignored.
        if let problem = listing.problems.first(where: { $0.status != .corrupt }) { throw problem }
        let entries = listing.items.compactMap { QueueEntry($0, session: queue.session) }
        // If an item is unreadable, it may be the head of a part that seems to have no head. So orphaned parts are
        // cleared only if the listing is complete.
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

    /// Changes the queue's mark before its items are changed. So other processes list the requests again even if this
    /// process is killed during the change.
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

    /// Loads the secret of an item; nil if the item does not exist.
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

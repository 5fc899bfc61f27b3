import Glibc
import TokenKeepCore
import TokenKeepRecords

/// One renewal of a session's token, by the process that holds the refresh lock.
///
/// The order of the steps is essential: acquire the lock, read again, note durably that the refresh token is about to
/// be sent, send it once, save the answer before its content is judged.
struct Renewal {
    struct Result {
        let facts: SessionFacts
        let record: SessionRecord
        /// Whether this process received the tokens from the server. False if another process saved them.
        var isNew = false
    }

    /// The reason why an attempt ended without tokens.
    enum Fault: Error {
        case failed(TokenKeepError)
        case notSent(TokenKeepError)
        /// An item is locked, and nothing was sent.
        case locked(TokenKeepError)
        /// The server asks to wait for this number of seconds, which is short enough for this call.
        case coolingDown(Int64)
        /// The session has ended, or another session has begun, so the session must be read again.
        case changed
        /// The session was changed while this process waited for the lock. The session is then read again without the
        /// lock, so that all waiting processes can read it at the same time.
        case renewedMeanwhile
    }

    /// The maximum number of attempts if a request could not be sent.
    private static let attempts = 3
    /// The text of a note's problem if no answer to the last request arrived.
    static let lostAnswer = "its answer was lost"
    /// The time limit for saving an answer, in milliseconds.
    private static let savingLimit: UInt32 = 20_000
    /// The time, in milliseconds, that a call waits for another process before it calls
    /// ``SessionOptions/whileWaiting``.
    private static let quietLimit: UInt32 = 1000

    let storage: SessionStorage
    let call: CallContext
    /// The resource or scope of the access token to be renewed; nil for the access token of the sign-in.
    let target: TokenTarget?
    /// Whether the session is extended instead of renewed, so that no refresh token is sent.
    let isExtension: Bool
    var options: SessionOptions { storage.options }

    init(
        _ storage: SessionStorage, for target: TokenTarget? = nil, isExtension: Bool = false, _ call: CallContext
    ) {
        self.storage = storage
        self.target = target
        self.isExtension = isExtension
        // A renewal holds the session's lock, so a prompt would make other processes wait for this user.
        self.call = call.withoutPrompts
    }

    /// Renews the token, or returns a token that another process has saved since the caller read the session.
    ///
    /// - Parameters:
    ///   - stale: the access token that the caller read; nil if the session had none for the target.
    ///   - isRejected: whether the server refused `stale`.
    func run(_ facts: SessionFacts, stale: SecretBytes?, isRejected: Bool = false) throws(TokenKeepError) -> Result {
        let result = try attempt(since: facts.mark, stale: stale, isRejected: isRejected)
        if result.isNew { Outbox(storage.store, options).flushBriefly(service: storage.name.service) }
        return result
    }

    private func attempt(
        since mark: UInt64?, stale: SecretBytes?, isRejected: Bool
    ) throws(TokenKeepError) -> Result {
        var attempt = 1
        var mark = mark
        var hasAsked = false
        while true {
            do throws(Fault) {
                return try locked(since: mark, stale: stale, isRejected: isRejected)
            } catch {
                switch error {
                case .failed(let error): throw error
                case .notSent(let error):
                    guard attempt < Renewal.attempts, !call.deadline.hasPassed else { throw error }
                    let seconds = UInt32(1) << UInt32(attempt - 1)
                    options.explain?("attempt \(attempt) was not sent: \(error.message)")
                    pause(milliseconds: UInt32.random(in: seconds * 800...seconds * 1200))
                    attempt += 1
                case .locked(let error):
                    // The refresh lock is already released, so no other process waits while the user is asked.
                    guard !hasAsked, try storage.store.askToOpen(storage.name, after: error, until: call.deadline)
                    else { throw error }
                    hasAsked = true
                case .coolingDown(let seconds):
                    options.explain?("the server asks to wait \(seconds) s")
                    pause(milliseconds: UInt32(clamping: max(1, seconds)) * 1000)
                case .renewedMeanwhile:
                    let facts = try storage.read(call)
                    let record = try storage.live(facts)
                    if try decide(facts, record, stale) == .adopt { return adopted(facts, record) }
                    // The mark is not compared again, because the next attempt reads the session under the lock.
                    mark = nil
                case .changed:
                    options.explain?("the session was changed meanwhile, and is read again")
                    guard attempt < Renewal.attempts else { throw busy() }
                    attempt += 1
                }
            }
        }
    }

    /// Acquires the session's refresh lock, which a process holds while it asks the server for tokens.
    ///
    /// - Throws: ``Status/busy``, naming the process with the lock, if the lock is not released by the deadline.
    func refreshLock() throws(TokenKeepError) -> SessionLock {
        if options.explain != nil, let lock = try acquireLock(within: 0) { return took(lock) }
        options.explain?("waits for \(holder()), which is renewing the token")
        if let whileWaiting = options.whileWaiting {
            if let lock = try acquireLock(within: Renewal.quietLimit) { return took(lock) }
            whileWaiting(try storage.note()?.refreshing?.process)
        }
        guard let lock = try acquireLock(within: UInt32.max) else { throw busy() }
        return took(lock)
    }

    private func took(_ lock: consuming SessionLock) -> SessionLock {
        options.explain?("took the session's refresh lock")
        return lock
    }

    private func acquireLock(within milliseconds: UInt32) throws(TokenKeepError) -> SessionLock? {
        let call = call.until(Deadline(milliseconds: milliseconds))
        return try SessionLock.acquire(.refresh, of: storage.name, storage.store.records, call)
    }

    private func locked(since mark: UInt64?, stale: SecretBytes?, isRejected: Bool) throws(Fault) -> Result {
        let lock: SessionLock
        do throws(TokenKeepError) {
            lock = try refreshLock()
        } catch {
            throw .failed(error)
        }
        if let mark, storage.mark != mark { throw .renewedMeanwhile }
        return try renew(stale: stale, isRejected: isRejected, under: lock)
    }

    private func renew(
        stale: SecretBytes?, isRejected: Bool, under _: borrowing SessionLock
    ) throws(Fault) -> Result {
        let (facts, record) = try orLocked { () throws(TokenKeepError) in
            let facts = try storage.read(call)
            return (facts, try storage.live(facts))
        }
        switch try orFault({ () throws(TokenKeepError) in try decide(facts, record, stale) }) {
        case .adopt: return adopted(facts, record)
        case .wait(let seconds): throw .coolingDown(seconds)
        case .fail(let seconds): throw .failed(facts.note.coolingDown(seconds))
        case .renew: break
        }
        let joined = try orLocked { () throws(TokenKeepError) in try storage.joined(record, call) }
        return try send(facts, joined, isRejected: isRejected)
    }

    private func orLocked<Value>(_ body: () throws(TokenKeepError) -> Value) throws(Fault) -> Value {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw error.status == .locked ? .locked(error) : .failed(error)
        }
    }

    /// Decides under the refresh lock whether to return a token that another process saved since `stale` was read, to
    /// ask the server, to wait or to fail.
    private func decide(
        _ facts: SessionFacts, _ record: SessionRecord, _ stale: SecretBytes?
    ) throws(TokenKeepError) -> TokenRules.LockedDecision {
        let access = try record.access(for: target)
        let now = options.clock()
        return TokenRules.locked(
            TokenRules.Access(access?.life, at: now, minTTL: 0), isStale: access?.value == stale,
            coolDown: facts.note.coolDown(at: now), left: call.deadline.remainingMilliseconds)
    }

    private func adopted(_ facts: SessionFacts, _ record: SessionRecord) -> Result {
        options.explain?("adopted the token of another process, generation \(record.generation)")
        return Result(facts: facts, record: record)
    }

    func rotation(of facts: SessionFacts) -> RotationProfile { options.rotation ?? facts.note.rotation }

    private func busy() -> TokenKeepError {
        TokenKeepError(.busy, "\(holder()) is renewing the token of \(storage.name)", hint: "try again")
    }

    /// Describes the process that is renewing the token, for messages. Reads its id from the note.
    private func holder() -> String {
        (try? storage.note())?.refreshing.map { "process \($0.process)" } ?? "another process"
    }

    private func pause(milliseconds: UInt32) { options.pause(milliseconds, call.deadline) }

    /// The context for saving an answer. Neither the caller's cancellation nor its deadline applies, because the answer
    /// would be lost.
    static var saving: CallContext {
        CallContext(deadline: Deadline(milliseconds: savingLimit, cancellation: Cancellation()))
    }

    static func unknown(_ reason: String, _ hint: String?) -> TokenKeepError {
        TokenKeepError(.unavailable, "the session was not renewed: \(reason)", module: "server", hint: hint)
    }
}

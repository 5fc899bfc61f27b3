import Glibc
public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Reports which items of a store any process has saved or cleared, without their values.
///
/// Each reading of the items is compared with the previous one:
///
/// - Neither a move of an item between modules nor a save of an unchanged item is reported.
/// - Several changes of one item may be reported as one.
/// - Memory-only items are not watched.
/// - While a module is unreadable, a signalled change is reported as ``ItemChange/listAgain``. When all modules are
///   readable again, ``ItemChange/listAgain`` is reported once more.
/// - After a change by TokenKeep, the watch reads only the changed item, whatever the number of items.
/// - A change by another program in the Secret Service is found when the service signals it, or by a regular reading
///   every ``lookAgainMilliseconds``, if ``next()`` is called.
///
/// Safe to use from several threads. In a child process made by `fork()`, every call throws ``Status/forked``.
public final class StoreWatch: Sendable {
    private static let lookAgain: UInt32 = 30_000
    private static let retry: UInt32 = 1_000

    private struct State {
        var view: ItemView
        /// The changes still to be reported, in reverse order.
        var pending: [ItemChange] = []
        var mustRead = false
        var listAgainAt: Deadline
    }

    private let store: Store
    private let service: String?
    private let signal: VaultWatch
    private let cancellation: Cancellation
    private let state: MutexGuarded<State>
    /// The failure that left the first reading incomplete; nil if every item was read.
    public let problem: TokenKeepError?

    /// Begins to watch the items of a service, or of all services if `service` is nil.
    ///
    /// Reads the present items, within the store's timeout. If an item is unreadable now, the watch later reports
    /// ``ItemChange/listAgain``.
    ///
    /// - Parameter cancellation: ends a reading early, for example if a module does not answer; nil if readings are not
    ///   cancelled. ``Store/cancel()`` does not end them.
    /// - Throws: ``Status/invalid`` if the service's name exceeds its limits; ``Status/io`` if the system allows no
    ///   more watches; ``Status/unsupported`` if the stack has no line for `list`.
    public init(
        _ store: Store, service: String? = nil, cancellation: Cancellation? = nil
    ) throws(TokenKeepError) {
        try StoreWatch.check(store)
        let signal = try VaultWatch(store.records)  // before the first reading, so that no change is missed
        store.whenChanged { [weak signal] in
            signal?.note()
            return signal != nil
        }
        // The watch has a separate cancellation, so that ``Store/cancel()`` does not cancel the watch's readings.
        let cancellation = cancellation ?? Cancellation()
        let beginning = try ItemView.first(
            of: store, service: service, until: StoreWatch.deadline(store, cancellation))
        let isRead = beginning.isRead
        problem = beginning.problem
        self.cancellation = cancellation
        self.store = store
        self.service = service
        self.signal = signal
        state = MutexGuarded(
            State(
                view: beginning.view, mustRead: !isRead,
                listAgainAt: Deadline(milliseconds: isRead ? StoreWatch.lookAgain : StoreWatch.retry)))
    }

    /// The namespace of the watched items.
    public var namespace: String { store.namespace }

    /// A descriptor that is readable (poll(2)) while ``next()`` may return a change. Owned by the watch.
    public var descriptor: Int32 { signal.descriptor }

    /// The maximum time, in milliseconds, to wait for ``descriptor`` before ``next()`` must be called; -1 for no limit.
    public var lookAgainMilliseconds: Int32 {
        if state.withLock({ $0.mustRead }) { return Int32(StoreWatch.retry) }
        return store.hasForeignWriters ? Int32(StoreWatch.lookAgain) : -1
    }

    /// Returns the next change; nil if there is none. Does not wait for a change.
    ///
    /// Reads the items, within the store's timeout, if a change was signalled.
    ///
    /// - Throws: ``Status/forked`` in a child process made by `fork()`.
    public func next() throws(TokenKeepError) -> ItemChange? {
        try StoreWatch.check(store)
        return state.withLock { state in
            if state.pending.isEmpty { look(&state) }
            let change = state.pending.popLast()
            signal.keepReadable(!state.pending.isEmpty)
            return change
        }
    }

    private func look(_ state: inout State) {
        let notice = signal.take()
        let isTime = (store.hasForeignWriters || state.mustRead) && state.listAgainAt.hasPassed
        guard notice.hasChanged || notice.hasLost || isTime else { return }
        // After a failed reading, the next successful reading of the whole store must also report the changes that were
        // missed, so reading single records is not enough.
        if let records = notice.records, !notice.hasLost, !isTime, !state.mustRead,
            let changes = state.view.update(
                records, from: store, service: service, until: StoreWatch.deadline(store, cancellation))
        {
            state.pending = changes.reversed()
            return
        }
        let occasion: ItemView.Occasion =
            notice.isSignalled || state.mustRead ? .signal : notice.hasChanged ? .module : .clock
        let (changes, isRead) = state.view.update(
            from: store, service: service, on: occasion, until: StoreWatch.deadline(store, cancellation))
        // A failed reading is reported once, and repeated until it succeeds. A signalled change is always reported.
        let isToldAlready = !isRead && state.mustRead && !notice.isSignalled
        state.pending = notice.hasLost ? [.listAgain] : isToldAlready ? [] : changes.reversed()
        if isRead, changes.contains(where: { $0.name != nil }) { signal.noteUnloggedChanges() }
        state.mustRead = !isRead
        state.listAgainAt = Deadline(milliseconds: isRead ? StoreWatch.lookAgain : StoreWatch.retry)
    }

    private static func deadline(_ store: Store, _ cancellation: Cancellation) -> Deadline {
        Deadline(milliseconds: store.timeoutMilliseconds, cancellation: cancellation)
    }

    private static func check(_ store: Store) throws(TokenKeepError) {
        guard store.isUsable else {
            throw TokenKeepError(
                .forked, "the watch was opened before fork()", hint: "open a store and a watch in the child")
        }
    }
}

import Glibc
public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Tells what changes in a store: items saved and cleared, by whichever process, without their values.
///
/// What is told is the difference between what a list shows now and what it showed before. So an item that only moves from
/// one module to another has not changed, nor has one that is saved as it was, and several changes of an item may be told as
/// one. Memory-only items are not watched.
///
/// While part of the store cannot be read, what another process changes there cannot be told by name: each such change is told
/// as ``ItemChange/listAgain``, and once all can be read again.
///
/// What other programs do in the Secret Service is seen as far as the service signals it; besides, when something else changes,
/// and every ``lookAgainMilliseconds`` while the watch is asked.
///
/// Safe from any thread. In a child made by `fork()` it answers ``Status/forked``.
public final class StoreWatch: Sendable {
    private static let lookAgain: UInt32 = 30_000
    private static let retry: UInt32 = 1_000

    private struct State {
        var view: ItemView
        var pending: [ItemChange] = []
        var mustRead = false
        var listAgainAt: Deadline
    }

    private let store: Store
    private let service: String?
    private let signal: VaultWatch
    private let cancellation: Cancellation
    private let state: Guarded<State>
    /// Why what was there could not be read when the watch began, or not all of it; nil where it could.
    public let problem: TokenKeepError?

    /// Begins to watch the items of a service, or of all services for nil: what changes from now on is told.
    ///
    /// Reads what is there, by the store's timeout; what cannot be read now is told as ``ItemChange/listAgain`` later.
    ///
    /// - Parameter cancellation: what ends the watch: a reading that waits for a module is given up. ``Store/cancel()``
    ///   does not concern a watch.
    /// - Throws: ``Status/invalid`` for a service outside its limits, ``Status/io`` where the system allows no more
    ///   watches, ``Status/unsupported`` where the stack lists nothing.
    public init(
        _ store: Store, service: String? = nil, cancellation: Cancellation? = nil
    ) throws(TokenKeepError) {
        try StoreWatch.check(store)
        let signal = try VaultWatch(store.records)  // before the first reading: nothing falls between
        store.whenChanged { [weak signal] in
            signal?.note()
            return signal != nil
        }
        // Its own, or else that of the store's calls would end its readings too.
        let cancellation = cancellation ?? Cancellation()
        let beginning = try ItemView.first(
            of: store, service: service, until: StoreWatch.deadline(store, cancellation))
        let isRead = beginning.isRead
        problem = beginning.problem
        self.cancellation = cancellation
        self.store = store
        self.service = service
        self.signal = signal
        state = Guarded(
            State(
                view: beginning.view, mustRead: !isRead,
                listAgainAt: Deadline(milliseconds: isRead ? StoreWatch.lookAgain : StoreWatch.retry)))
    }

    /// The namespace of the items.
    public var namespace: String { store.namespace }

    /// Readable (poll(2)) while there may be something to tell. It belongs to the watch.
    public var descriptor: Int32 { signal.descriptor }

    /// How long to wait for ``descriptor`` before ``next()`` is asked all the same; -1 for as long as it takes.
    public var lookAgainMilliseconds: Int32 {
        if state.withLock({ $0.mustRead }) { return Int32(StoreWatch.retry) }
        return store.hasForeignWriters ? Int32(StoreWatch.lookAgain) : -1
    }

    /// What changed next; nil where nothing has. Never waits for a change; after one it reads the list of items, by the
    /// store's timeout.
    ///
    /// - Throws: ``Status/forked``.
    public func next() throws(TokenKeepError) -> ItemChange? {
        try StoreWatch.check(store)
        return state.withLock { state in
            if state.pending.isEmpty { look(&state) }
            let change = state.pending.isEmpty ? nil : state.pending.removeFirst()
            signal.keepReadable(!state.pending.isEmpty)
            return change
        }
    }

    private func look(_ state: inout State) {
        let notice = signal.take()
        let isTime = (store.hasForeignWriters || state.mustRead) && state.listAgainAt.hasPassed
        guard notice.hasChanged || notice.hasLost || isTime else { return }
        // What could not be read at all and now can is news, whatever woke us.
        let occasion: ItemView.Occasion =
            notice.isSignalled || state.mustRead ? .signal : notice.hasChanged ? .module : .clock
        let (changes, isRead) = state.view.update(
            from: store, service: service, on: occasion, until: StoreWatch.deadline(store, cancellation))
        // A reading that failed is told once, and tried again until it succeeds; each change meanwhile is told of.
        let isToldAlready = !isRead && state.mustRead && !notice.isSignalled
        state.pending = notice.hasLost ? [.listAgain] : isToldAlready ? [] : changes
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

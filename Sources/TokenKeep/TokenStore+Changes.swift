import TokenKeepCore
import TokenKeepEngine

extension TokenStore {
    /// A sequence of all saves and clears of the store's items, by any process, from its first element on.
    ///
    /// ```swift
    /// for try await change in store.changes {
    ///     switch change {
    ///     case .saved(let name), .cleared(let name): …
    ///     case .listAgain: …
    ///     }
    /// }
    /// ```
    ///
    /// See ``Changes``.
    public var changes: Changes { changes(of: nil) }

    /// The changes of the items of one service, or of all services if `service` is nil.
    public func changes(of service: String?) -> Changes { Changes(engine: engine, service: service) }

    /// An asynchronous sequence of a store's changes, without values.
    ///
    /// The first element is always ``Change/listAgain``. The sequence misses no later change, so a list after the
    /// first element is up to date. Each further element reports one difference from the previous list:
    ///
    /// - An item that only moves to another module, or is saved unchanged, produces no element.
    /// - Several changes of one item may produce one element.
    /// - A change by another program in the Secret Service is reported when the service signals the change, otherwise
    ///   within 30 seconds.
    /// - Memory-only items are not watched.
    /// - A removed vault has no items. The sequence continues with the vault that is restored or created at the same
    ///   path.
    ///
    /// Each iterator has its own watch and waits on its own thread. An iterator ends soon after its task is cancelled,
    /// even while a module does not answer.
    public struct Changes: AsyncSequence, Sendable {
        /// One change of an item.
        public typealias Element = Change
        /// The error that ends the sequence, because the store cannot be watched.
        ///
        /// - ``TokenKeepError/Status/io``: the system's limit of file watches is reached.
        /// - ``TokenKeepError/Status/forked``: the process is a child made by `fork()`.
        /// - ``TokenKeepError/Status/unsupported``: no module of the stack can list items.
        public typealias Failure = TokenKeepError

        fileprivate let engine: Store
        fileprivate let service: String?

        /// Makes an iterator, whose watch begins when the first element is requested.
        public func makeAsyncIterator() -> Iterator { Iterator(engine: engine, service: service) }

        /// The iterator of ``Changes``, which waits for each change.
        public struct Iterator: AsyncIteratorProtocol {
            private let engine: Store
            private let service: String?
            private var waiting: WatchThread<StoreWatch>?
            private var hasEnded = false

            fileprivate init(engine: Store, service: String?) {
                self.engine = engine
                self.service = service
            }

            /// The next change; nil when the task is cancelled.
            ///
            /// - Throws: the error of the sequence, see ``Changes/Failure``. The iterator has ended then.
            public mutating func next() async throws(TokenKeepError) -> Change? {
                try await next(isolation: nil)
            }

            /// The next change; nil when the task is cancelled.
            ///
            /// - Throws: the error of the sequence, see ``Changes/Failure``. The iterator has ended then.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(TokenKeepError) -> Change? {
                guard !hasEnded else { return nil }
                do throws(CoreError) {
                    let change = try await thread().next()
                    if change == nil { end() }
                    return change.map { Change($0) }
                } catch {
                    end()
                    throw TokenKeepError(error)
                }
            }

            private mutating func thread() throws(CoreError) -> WatchThread<StoreWatch> {
                if let waiting { return waiting }
                // In a child made by fork(), the watch's thread cannot start. `list()` is called only because it throws
                // the error for such a child.
                if !engine.isUsable { _ = try engine.list() }
                let thread = try WatchThread(first: .listAgain) { [engine, service] cancellation throws(CoreError) in
                    try StoreWatch(engine, service: service, cancellation: cancellation)
                }
                waiting = thread
                return thread
            }

            private mutating func end() {
                hasEnded = true
                waiting = nil
            }
        }
    }
}

import Glibc
import TokenKeepEngine

extension TokenStore {
    /// What changes in the store from the first element on: items saved and cleared, by whichever process.
    ///
    /// ```swift
    /// for try await change in store.changes {
    ///     switch change {
    ///     case .saved(let name), .cleared(let name): …
    ///     case .readAgain: …
    ///     }
    /// }
    /// ```
    ///
    /// See ``Changes``.
    public var changes: Changes { changes(of: nil) }

    /// What changes among the items of a service, or of all services for nil.
    public func changes(of service: String?) -> Changes { Changes(engine: engine, service: service) }

    /// The changes of a store, without values.
    ///
    /// The first element is always ``ItemChange/listAgain``: from then on nothing is missed, so that what is read after it
    /// is the present. Then an element comes for each difference to what was there before: an item that only moves to
    /// another module, or is saved as it was, has not changed, and several changes of one item may be one element. What
    /// other programs do in the Secret Service is seen when the service signals it, else within half a minute. Memory-only
    /// items are not watched.
    ///
    /// Each iterator watches for itself, on a thread of its own while it is waited for. It ends soon when its task is cancelled, also
    /// while a module does not answer.
    public struct Changes: AsyncSequence, Sendable {
        /// A change.
        public typealias Element = ItemChange
        /// Why the store cannot be watched: ``Status/io`` where the system allows no more watches, ``Status/forked`` in a
        /// child made by `fork()`, ``Status/unsupported`` where the stack lists nothing.
        public typealias Failure = TokenKeepError

        fileprivate let engine: Store
        fileprivate let service: String?

        /// Watches from its first element on.
        public func makeAsyncIterator() -> Iterator { Iterator(engine: engine, service: service) }

        /// Waits for changes.
        public struct Iterator: AsyncIteratorProtocol {
            private let engine: Store
            private let service: String?
            private var waiting: WatchThread?
            private var hasEnded = false

            fileprivate init(engine: Store, service: String?) {
                self.engine = engine
                self.service = service
            }

            /// The next change; nil when the task is cancelled.
            public mutating func next() async throws(TokenKeepError) -> ItemChange? {
                try await next(isolation: nil)
            }

            /// The next change; nil when the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(TokenKeepError) -> ItemChange? {
                guard !hasEnded else { return nil }
                let thread: WatchThread
                if let waiting {
                    thread = waiting
                } else {
                    // In a child made by fork() there is no thread to ask; the engine says so.
                    if !engine.isUsable { _ = try engine.list() }
                    thread = try WatchThread(engine, service: service)
                    waiting = thread
                }
                let change: ItemChange?
                do throws(TokenKeepError) {
                    change = try await thread.next()
                } catch {
                    end()
                    throw error
                }
                if change == nil { end() }
                return change
            }

            private mutating func end() {
                hasEnded = true
                waiting = nil
            }
        }
    }
}

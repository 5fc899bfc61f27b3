import TokenKeepCore

extension TokenStore {
    /// The result of a list: items without their secrets, and errors.
    public struct Listing: Sendable {
        /// The items found.
        public let items: [TokenItem.Details]
        /// The first error that occurred during the list; nil if the list is complete.
        public let problem: TokenKeepError?
        /// The errors that occurred during the list: for each status and module, the first one.
        public let problems: [TokenKeepError]

        init(_ core: ItemListing) {
            items = core.items.map { TokenItem.Details(core: $0) }
            problem = core.problem.map { TokenKeepError($0) }
            problems = core.problems.map { TokenKeepError($0) }
        }
    }

    /// The result of a sync.
    public struct SyncOutcome: Sendable {
        /// The number of items that now have no pending changes left for the stack's modules on this machine.
        public let drained: Int
        /// The number of items with pending writes or removals left.
        public let left: Int
        /// The modules with pending writes or removals left, sorted by name.
        public let pendingModules: [String]
        /// The first failure other than an unavailable module; nil if there was no such failure.
        ///
        /// Examples: an unreadable record, an item that another process holds.
        public let problem: TokenKeepError?
        /// The error of a module that left the first pending item pending; nil if nothing is pending or no module could
        /// be reached.
        public let obstacle: TokenKeepError?

        init(_ core: TokenKeepCore.SyncOutcome) {
            drained = core.drained
            left = core.left
            pendingModules = core.pendingModules
            problem = core.problem.map { TokenKeepError($0) }
            obstacle = core.obstacle.map { TokenKeepError($0) }
        }
    }

    /// A change of a store's items, without values.
    public enum Change: Sendable, Hashable {
        /// The item was saved: it is new, or its secret or metadata changed.
        case saved(TokenItem.Name)
        /// The item was cleared.
        case cleared(TokenItem.Name)
        /// Any item may have changed. The application should list the items again.
        case listAgain

        init(_ core: ItemChange) {
            self =
                switch core {
                case .saved(let name): .saved(TokenItem.Name(core: name))
                case .cleared(let name): .cleared(TokenItem.Name(core: name))
                case .listAgain: .listAgain
                }
        }

        /// The name of the changed item; nil for ``listAgain``.
        public var name: TokenItem.Name? {
            switch self {
            case .saved(let name), .cleared(let name): name
            case .listAgain: nil
            }
        }
    }
}

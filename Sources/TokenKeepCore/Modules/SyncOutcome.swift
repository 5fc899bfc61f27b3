/// The result of a sync.
public struct SyncOutcome: Sendable {
    /// The number of drained items: no module of the stack on this machine has pending changes of them.
    public var drained: Int
    /// The number of items with pending writes or removals left.
    public var left: Int
    /// The modules with pending writes or removals left, sorted by name.
    public var pendingModules: [String]
    /// The first failure other than an unavailable module; nil if there was none.
    ///
    /// Examples: an unreadable record, an item that another process holds.
    public var problem: TokenKeepError?
    /// The module's error for the first item still pending; nil if nothing is pending or no module could be asked.
    public var obstacle: TokenKeepError?

    /// An outcome. By default nothing was pending.
    public init(
        drained: Int = 0, left: Int = 0, pendingModules: [String] = [], problem: TokenKeepError? = nil,
        obstacle: TokenKeepError? = nil
    ) {
        self.drained = drained
        self.left = left
        self.pendingModules = pendingModules
        self.problem = problem
        self.obstacle = obstacle
    }
}

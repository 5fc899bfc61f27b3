/// The result of applying pending writes and removals.
public struct SyncOutcome: Sendable {
    /// The number of items that had pending changes for modules of the stack on this machine, and now have none left.
    public var drained: Int
    /// The number of items for which writes or removals are still pending.
    public var left: Int
    /// The modules for which writes or removals are still pending, sorted by name.
    public var pendingModules: [String]
    /// The first failure other than an unavailable module; nil if there was none.
    ///
    /// For example, a record is unreadable, or another process has locked an item.
    public var problem: TokenKeepError?
    /// The first error of a module that did not apply its pending change; nil if no module failed.
    public var obstacle: TokenKeepError?

    /// Makes the result of applying pending changes. Without arguments, the result says that no change was pending.
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

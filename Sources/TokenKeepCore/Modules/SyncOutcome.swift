/// What a sync came to.
public struct SyncOutcome: Sendable {
    /// How many items are settled: nothing of them is owed any more to a module of the stack on this machine.
    public var drained: Int
    /// How many are still owed.
    public var left: Int
    /// The modules to which something is still owed, in the order of their names.
    public var pendingModules: [String]
    /// The first failure met that is not a module out of reach: a record that cannot be read, an item that another
    /// process holds; nil where there was none.
    public var problem: TokenKeepError?
    /// What a module answered for the first item that is still owed to it; nil where nothing is, or no module was asked
    /// because none can answer.
    public var obstacle: TokenKeepError?

    /// Nothing was owed, unless said otherwise.
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

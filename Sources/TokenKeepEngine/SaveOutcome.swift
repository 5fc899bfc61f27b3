/// What a save came to.
public struct SaveOutcome: Sendable {
    /// The item's version.
    public let version: UInt64
    /// The module that holds the item now.
    public let module: String
    /// The modules that could not be reached and get the item later.
    public var pendingModules: [String]

    init(version: UInt64, module: String, pendingModules: [String] = []) {
        self.version = version
        self.module = module
        self.pendingModules = pendingModules
    }
}

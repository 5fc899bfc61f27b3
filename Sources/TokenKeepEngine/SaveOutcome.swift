/// The outcome of a save.
public struct SaveOutcome: Sendable {
    /// The item's version.
    public let version: UInt64
    /// The module that holds the item now.
    public let module: String
    /// The modules that missed the saved value. Each has a pending write.
    public var pendingModules: [String]

    init(version: UInt64, module: String, pendingModules: [String] = []) {
        self.version = version
        self.module = module
        self.pendingModules = pendingModules
    }
}

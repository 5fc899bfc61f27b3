/// The outcome of a save: the item's version, and the modules that have or missed the item.
public struct SaveOutcome: Sendable {
    /// The version of the saved item.
    public let version: UInt64
    /// The name of the module that has the saved item now.
    public let module: String
    /// The names of the modules that missed the saved value. Each has a pending write.
    public var pendingModules: [String]

    init(version: UInt64, module: String, pendingModules: [String] = []) {
        self.version = version
        self.module = module
        self.pendingModules = pendingModules
    }
}

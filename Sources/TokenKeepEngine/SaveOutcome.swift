/// The outcome of a save: the item's version, the module that has the item, and the modules that missed it.
public struct SaveOutcome: Sendable {
    /// The version of the saved item.
    public let version: UInt64
    /// The name of the module that has the saved item now.
    public let module: String
    /// The names of the modules that missed the saved value. The value is pending for each of them.
    public var pendingModules: [String]

    init(version: UInt64, module: String, pendingModules: [String] = []) {
        self.version = version
        self.module = module
        self.pendingModules = pendingModules
    }
}

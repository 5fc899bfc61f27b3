/// The outcome of a save.
public struct SaveOutcome: Sendable {
    /// The version of the saved item.
    public let version: UInt64
    /// The name of the module that has the saved item now.
    public let module: String
    /// The modules that missed the saved value. Each has a pending write.
    public var pendingModules: [String]

    init(version: UInt64, module: String, pendingModules: [String] = []) {
        self.version = version
        self.module = module
        self.pendingModules = pendingModules
    }
}

import TokenKeepCore
import TokenKeepKeys
import TokenKeepPlugin
import TokenKeepRecords
import TokenKeepSecretService

/// Makes the modules that the lines of a stack name.
struct ModuleFactory {
    /// Functions that make replacement modules for tests, by module name.
    typealias StandIns = [String: @Sendable (@escaping VersionKeyProvider) -> any Module]

    /// Makes a built-in module, and removes the arguments that it knows from those of the stack line.
    private typealias Maker = @Sendable (ModuleFactory, inout ModuleArguments) throws(TokenKeepError) -> any Module

    let records: Records
    let versionKeys: VersionKeys
    /// The address of a message bus to use instead of the session's bus, for tests.
    let busAddress: String?
    let standIns: StandIns
    /// The directories of stack files. Only a stack in the system's directory may name a module by its path.
    let directories: StackDirectories

    /// The built-in modules by name. Any other module is a file in the module directory.
    private static let own: [(name: String, make: Maker)] = [
        (
            "secret-service",
            { (factory, arguments) throws(TokenKeepError) in
                let timeout = try arguments.takeTimeout() ?? 5000
                return factory.deferring(
                    SecretServiceModule(
                        timeoutMilliseconds: timeout, address: factory.busAddress,
                        vaultID: { [records = factory.records] in
                            ((try? records.opener.vaultID()) ?? nil).map(Hexadecimal.text)
                        }, versionKey: factory.versionKey))
            }
        ),
        ("vault", { (factory, _) throws(TokenKeepError) in VaultModule(factory.records) }),
        ("memory", { (factory, _) throws(TokenKeepError) in MemoryModule() }),
    ]

    /// The names of the built-in modules.
    static var ownNames: [String] { own.map(\.name) }

    /// Makes the module that a line of a stack names.
    ///
    /// - Parameter isWritten: whether any line of the stack asks the module to save or clear.
    /// - Throws: ``Status/invalid`` if there is no such module or the module rejects an argument.
    func make(_ line: StackLine, isWritten: Bool) throws(TokenKeepError) -> any Module {
        var arguments = ModuleArguments(line)
        if let standIn = standIns[line.module] {
            _ = try arguments.takeTimeout()
            return deferring(standIn(versionKey))
        }
        guard let own = ModuleFactory.own.first(where: { $0.name == line.module }) else {
            return try plugin(line, &arguments, isWritten: isWritten)
        }
        let module = try own.make(self, &arguments)
        try arguments.end()
        return module
    }

    /// Makes a plugin module. The module's file is opened at the first call of the module.
    private func plugin(
        _ line: StackLine, _ arguments: inout ModuleArguments, isWritten: Bool
    ) throws(TokenKeepError) -> any Module {
        var setting = PluginModule.Setting(file: try file(line))
        guard ModuleName.isValidFileName(setting.name), !ModuleFactory.ownNames.contains(setting.name) else {
            throw TokenKeepError(.invalid, "no module can be called \"\(setting.name.cutForMessage)\"")
        }
        setting.timeoutMilliseconds = try arguments.takeTimeout() ?? setting.timeoutMilliseconds
        setting.arguments = arguments.takeRest()
        setting.mayBeMissing = line.mayBeMissing
        setting.supportsPendingWrites = isWritten
        let module = PluginModule(setting, versionKey: versionKey)
        return deferring(SealingModule(base: module, versionKey: versionKey))
    }

    private func file(_ line: StackLine) throws(TokenKeepError) -> ModuleFile {
        guard line.module.utf8.first == UInt8(ascii: "/") else {
            if let file = ModuleDirectory.file(of: line.module) { return file }
            throw ModuleFactory.noModule(line.module)
        }
        guard directories.isSystems(line.place.source) else {
            throw TokenKeepError(
                .invalid,
                "the module \(line.module.cutForMessage) is named by its path, which only a stack of the system may do",
                hint: "install it in \(ModuleDirectory.path) and name it there")
        }
        return ModuleFile(path: line.module)
    }

    static func noModule(_ name: String) -> TokenKeepError {
        let own = ownNames.joined(separator: ", ")
        return TokenKeepError(
            .invalid, "there is no module \"\(name.cutForMessage)\"",
            hint: "the modules are: \(own), and those that lie in \(ModuleDirectory.path)", isAbsence: true)
    }

    /// Wraps a module that supports pending writes, so that the vault keeps the changes that the module misses.
    private func deferring(_ module: any Module) -> any Module {
        module.supportsPendingWrites ? DeferrableModule(base: module, records: records) : module
    }

    private var versionKey: VersionKeyProvider {
        let keys = versionKeys
        return { () throws(TokenKeepError) in try keys.current() }
    }
}

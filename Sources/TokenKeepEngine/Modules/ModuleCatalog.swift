package import TokenKeepCore
package import TokenKeepPlugin

/// The modules that there are, for the command line and the tests.
package enum ModuleCatalog {
    /// A module, and whether it can be used.
    package struct Entry: Sendable {
        /// What a stack calls it.
        package let name: String
        /// `built in`, `shared object` or `program`.
        package let kind: String
        /// Where its file is; empty for our own.
        package let path: String
        /// Why it would be refused; nothing of it was run.
        package let problem: TokenKeepError?
    }

    /// Our own modules, then those of the directory.
    package static func entries() -> [Entry] {
        let own = ModuleFactory.ownNames
        return own.map { Entry(name: $0, kind: "built in", path: "", problem: nil) }
            + ModuleDirectory.files().filter { !own.contains($0.moduleName) }.map { file in
                var problem: TokenKeepError?
                do throws(TokenKeepError) { try file.check() } catch { problem = error }
                return Entry(name: file.moduleName, kind: file.kind.rawValue, path: file.path, problem: problem)
            }
    }

    /// A module by itself, and what it says that it can do; nil of our own. Its errors repeat its own words.
    ///
    /// - Parameters:
    ///   - target: a name as in a stack, or a path, which has a `/`.
    ///   - arguments: those of its line.
    /// - Throws: ``Status/invalid`` where there is none, and why it cannot be loaded.
    package static func module(
        _ target: String, arguments: [String], configuration: StoreConfiguration = StoreConfiguration()
    ) throws(TokenKeepError) -> (module: any Module, capabilities: PluginCapabilities?) {
        guard target.utf8.contains(UInt8(ascii: "/")) else {
            guard ModuleFactory.ownNames.contains(target) || ModuleDirectory.file(of: target) != nil else {
                throw ModuleFactory.noModule(target)
            }
            var configuration = configuration
            configuration.stackText = "any required " + ([target] + arguments).map(quoted).joined(separator: " ")
            let module = try Store(configuration).onlyModule
            guard let plugin = (module as? PluginModule)?.repeatingWords() else { return (module, nil) }
            return (plugin, try capabilities(of: plugin))
        }
        var setting = PluginModule.Setting(file: ModuleFile(relativePath: target))
        setting.arguments = arguments
        setting.repeatsWords = true
        try setting.file.check()
        let keys = try ItemVersionKey.random()
        let plugin = PluginModule(setting, arena: SecretArena()) { () throws(TokenKeepError) in keys }
        return (plugin, try capabilities(of: plugin))
    }

    /// A word as a stack spells it, whatever is in it.
    private static func quoted(_ word: String) -> String {
        "[" + word.split(separator: "]", omittingEmptySubsequences: false).joined(separator: "\\]") + "]"
    }

    private static func capabilities(of plugin: PluginModule) throws(TokenKeepError) -> PluginCapabilities {
        try plugin.capabilities(CallContext(deadline: Deadline(milliseconds: 5000)))
    }
}

extension Store {
    /// The module of a stack that has one.
    fileprivate var onlyModule: any Module {
        guard let module = dispatcher.programs.places.first?.module else { return dispatcher.memory }
        let base = (module as? DeferrableModule)?.base ?? module
        return (base as? SealingModule)?.base ?? base
    }
}

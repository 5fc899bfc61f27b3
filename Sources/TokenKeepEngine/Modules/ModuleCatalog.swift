package import TokenKeepCore
package import TokenKeepPlugin

/// Lists the modules that a stack can name, for the command line and the tests.
package enum ModuleCatalog {
    /// A module that a stack can name.
    package struct Entry: Sendable {
        /// The module's name in a stack.
        package let name: String
        /// The kind of the module: `built in`, `shared object` or `program`.
        package let kind: String
        /// The path of the module's file; empty for a built-in module.
        package let path: String
        /// The reason why a store would refuse the module; nil if there is none. Found without running the module.
        package let problem: TokenKeepError?
    }

    /// The built-in modules, followed by the modules of the module directory.
    package static func entries() -> [Entry] {
        let own = ModuleFactory.ownNames
        return own.map { Entry(name: $0, kind: "built in", path: "", problem: nil) }
            + ModuleDirectory.files().filter { !own.contains($0.moduleName) }.map { file in
                var problem: TokenKeepError?
                do throws(TokenKeepError) { try file.check() } catch { problem = error }
                return Entry(name: file.moduleName, kind: file.kind.rawValue, path: file.path, problem: problem)
            }
    }

    /// Makes one module. Also returns the capabilities that a plugin module reports; nil for a built-in module.
    ///
    /// The module's errors include the texts that the module itself reports.
    ///
    /// - Parameters:
    ///   - target: the module's name in a stack; or a path, if `target` contains a `/`.
    ///   - arguments: the arguments of the module's line.
    /// - Throws: ``Status/invalid`` if there is no such module; any failure to load the module.
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
        if configuration.timeoutMilliseconds != 0 { setting.timeoutMilliseconds = configuration.timeoutMilliseconds }
        try setting.file.check()
        let keys = try ItemVersionKey.random()
        let plugin = PluginModule(setting) { () throws(TokenKeepError) in keys }
        return (plugin, try capabilities(of: plugin))
    }

    /// A word in brackets, with `]` escaped, so that the line of a stack can contain any text.
    private static func quoted(_ word: String) -> String {
        "[" + word.split(separator: "]", omittingEmptySubsequences: false).joined(separator: "\\]") + "]"
    }

    private static func capabilities(of plugin: PluginModule) throws(TokenKeepError) -> PluginCapabilities {
        try plugin.capabilities(CallContext(deadline: Deadline(milliseconds: 5000)))
    }
}

extension Store {
    /// The module of the stack's only line, without the wrappers that the store put around it.
    fileprivate var onlyModule: any Module {
        var module = dispatcher.operations.places.first?.module ?? dispatcher.memory
        while let wrapper = module as? any ModuleWrapper { module = wrapper.base }
        return module
    }
}

import TokenKeepCore

/// A module's transport, made when it is first needed; used on the module's thread alone.
final class PluginHandle: @unchecked Sendable {
    private var transport: (any PluginTransport)?

    /// The transport, opened where it is not.
    ///
    /// - Throws: why the module cannot be used; the next call tries again.
    func transport(
        _ setting: PluginModule.Setting, _ call: PluginCall, changed: @escaping @Sendable () -> Void
    ) throws(TokenKeepError) -> any PluginTransport {
        if let transport { return transport }
        let made = try open(
            setting.file,
            PluginOptions(
                name: setting.name, arguments: setting.arguments, repeatsWords: setting.repeatsWords, changed: changed),
            call)
        transport = made
        return made
    }

    private func open(
        _ file: ModuleFile, _ options: PluginOptions, _ call: PluginCall
    ) throws(TokenKeepError) -> any PluginTransport {
        switch file.kind {
        case .sharedObject: return try SharedObjectTransport(file, options, call)
        case .program: return try ProgramTransport(file, options)
        }
    }

    /// Ends what need not stay while nothing is asked.
    func rest() { transport?.rest() }

    /// Ends what was opened.
    func close() {
        transport?.close()
        transport = nil
    }
}

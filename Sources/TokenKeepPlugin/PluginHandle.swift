import TokenKeepCore

/// Opens a module's transport at the first use, and keeps the transport. Used only on the module's thread.
final class PluginHandle: @unchecked Sendable {
    private var transport: (any PluginTransport)?

    /// Returns the module's transport. Opens the transport first if it is not open.
    ///
    /// - Throws: the error that makes the module unusable. The next call tries again.
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

    /// Releases resources that are not needed between calls.
    func rest() { transport?.rest() }

    /// Closes the transport.
    func close() {
        transport?.close()
        transport = nil
    }
}

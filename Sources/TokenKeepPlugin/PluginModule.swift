import Glibc
package import TokenKeepCore

/// A module from a third party: a shared object or a program.
///
/// The file is opened at the first call. All code of the module runs on a thread of its own or in another process. A
/// call returns by its deadline. A module that did not answer gets no calls until its pending call returns. Answers are
/// untrusted and are checked.
///
/// A save's precondition is checked just before the save. Another process may change the item between the check and
/// the save, so a caller that must prevent this holds a lock around the call.
package final class PluginModule: BasicModule {
    /// The settings of a module.
    package struct Setting: Sendable {
        /// The module's file.
        package var file: ModuleFile
        /// The module's name in the stack.
        package var name: String
        /// The arguments in the stack's line.
        package var arguments: [String] = []
        /// The maximum duration of a call, in milliseconds. An earlier deadline of the call applies as well.
        package var timeoutMilliseconds: UInt32 = 5000
        /// Whether a module that cannot be loaded counts as absent.
        package var mayBeMissing = false
        /// Whether the module is deferrable: changes that the module missed become pending.
        package var supportsPendingWrites = true
        /// The time without calls, in milliseconds, after which a program that was kept running is ended.
        package var idleMilliseconds: UInt32 = 5000
        /// Whether errors quote the module's messages.
        ///
        /// A message can contain a secret. So this is true only in a check of the module, which uses test secrets.
        package var repeatsWords = false
        /// The clock that dates saves.
        package var clock: @Sendable () -> UnixTime = { .now }

        /// Makes settings without arguments.
        package init(file: ModuleFile, name: String? = nil) {
            self.file = file
            self.name = name ?? file.moduleName
        }
    }

    private let setting: Setting
    private let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey
    private let worker: PluginWorker
    private let observers = ChangeObservers()
    private let handle: PluginHandle
    private static let restMilliseconds: UInt32 = 5000
    private static let closingMilliseconds: UInt32 = 500

    /// Makes a module. Does not open the module's file.
    package init(
        _ setting: Setting,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.setting = setting
        self.versionKey = versionKey
        // A program that did not answer was killed, and a successful restart does not prove that it answers now.
        let isProgram = setting.file.kind == .program
        let handle = PluginHandle()
        worker = PluginWorker(
            restMilliseconds: isProgram ? PluginModule.restMilliseconds : 0,
            idleMilliseconds: isProgram ? setting.idleMilliseconds : 0
        ) { handle.rest() }
        self.handle = handle
    }

    deinit {
        let handle = handle
        worker.end(patience: Deadline(milliseconds: PluginModule.closingMilliseconds)) { handle.close() }
    }

    /// A new module with the same settings, whose errors quote the module's messages.
    package func repeatingWords() -> PluginModule {
        var setting = setting
        setting.repeatsWords = true
        return PluginModule(setting, versionKey: versionKey)
    }

    package var name: String { setting.name }
    package var supportsPendingWrites: Bool { setting.supportsPendingWrites }
    package var mayAnswer: Bool { worker.mayAnswer }

    package func whenChanged(_ observer: @escaping @Sendable () -> Bool) { observers.add(observer) }

    package func prepare(_ call: CallContext) throws(TokenKeepError) {
        try ask(call) { (transport, call) throws(TokenKeepError) in try transport.prepare(call) }
    }

    package func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        let module = self.name
        let item = try ask(call, about: name) { (transport, call) throws(TokenKeepError) in
            try transport.load(name, call).item(named: name, module: module)
        }
        return try PluginModule.versioned(item, versionKey())
    }

    package func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let (module, now, key) = (name, setting.clock(), try versionKey())
        return try ask(call, about: request.name) { (transport, call) throws(TokenKeepError) in
            let present = try PluginModule.present(request.name, transport, call, module, key)
            try request.check(present: present?.details)
            var details = request.details(replacing: present?.details, module: module, now: now)
            let keepsMetadata = try transport.keepsMetadata(call)
            if !keepsMetadata { try PluginModule.checkPlain(details) }
            details.version = key.version(of: keepsMetadata ? details : details.plain, secret: request.secret)
            try transport.save(TokenItem(details: details, secret: request.secret), call)
            return details.version
        }
    }

    package func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let (module, key) = (self.name, try version.map { (_) throws(TokenKeepError) in try versionKey() })
        return try ask(call, about: name) { (transport, call) throws(TokenKeepError) in
            if let version, let key {
                let present = try PluginModule.present(name, transport, call, module, key)
                try SaveRequest.check(version: version, of: name, present: present?.details)
            }
            do throws(TokenKeepError) {
                try transport.clear(name, call)
                return true
            } catch {
                guard error.status == .notFound else { throw error }
                return false
            }
        }
    }

    package func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        let module = name
        return try ask(call) { (transport, call) throws(TokenKeepError) in
            let items = try transport.list(namespace: namespace, service: service, call)
            var seen: Set<ItemName> = []
            var details: [ItemDetails] = []
            for item in items {
                let one = try item.details(namespace: namespace, service: service, module: module)
                if seen.insert(one.name).inserted { details.append(one) }
            }
            return ItemListing(items: details)
        }
    }

    package func report(_ call: CallContext) -> ModuleReport {
        let place = "the \(setting.file.kind.rawValue) \(setting.file.path)"
        do throws(TokenKeepError) {
            let remarks = try ask(call) { (transport, call) throws(TokenKeepError) in try transport.report(call) }
            return ModuleReport(module: name, place: place, remarks: remarks)
        } catch {
            return ModuleReport(module: name, problem: error, place: place)
        }
    }

    /// The module's capabilities. Loads the module.
    package func capabilities(_ call: CallContext) throws(TokenKeepError) -> PluginCapabilities {
        try ask(call) { (transport, call) throws(TokenKeepError) in
            _ = try transport.report(call)
            return transport.capabilities
        }
    }

    /// Throws if the item has a level or flags and the module, which keeps only secrets, would lose them.
    private static func checkPlain(_ details: ItemDetails) throws(TokenKeepError) {
        guard details.accessLevel == details.plain.accessLevel, details.flags == details.plain.flags else {
            throw TokenKeepError(
                .policy, "the module keeps neither levels nor flags",
                hint: "name it in lines for load, or leave the level open")
        }
    }

    private static func versioned(_ item: TokenItem, _ key: ItemVersionKey) -> TokenItem {
        var details = item.details
        details.version = key.version(of: details, secret: item.secret)
        return TokenItem(details: details, secret: item.secret)
    }

    private static func present(
        _ name: ItemName, _ transport: any PluginTransport, _ call: PluginCall, _ module: String, _ key: ItemVersionKey
    ) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return versioned(try transport.load(name, call).item(named: name, module: module), key)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// Runs `body` on the module's thread, after it opened the module if necessary.
    private func ask<Result: Sendable>(
        _ call: CallContext, about name: ItemName? = nil,
        _ body: @escaping @Sendable (any PluginTransport, PluginCall) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        // The time limit does not apply if prompts are allowed, because a user needs longer than a module.
        let budget = call.promptsAllowed ? call : call.until(Deadline(milliseconds: setting.timeoutMilliseconds))
        let pluginCall = PluginCall(budget, repeatsWords: setting.repeatsWords)
        let (handle, setting, observers) = (handle, setting, observers)
        do throws(TokenKeepError) {
            return try worker.run(pluginCall) { () throws(TokenKeepError) in
                let transport = try handle.transport(setting, pluginCall) { observers.tell() }
                return try body(transport, pluginCall)
            }
        } catch {
            throw described(error, name)
        }
    }

    /// A copy of an error with the module's name, and with the item's name if the item was not found.
    private func described(_ error: TokenKeepError, _ item: ItemName?) -> TokenKeepError {
        if error.status == .notFound, let item {
            return TokenKeepError(.notFound, "no item \(item)", module: name)
        }
        // A read-only module that may be missing counts as a module without items. For a deferrable module, the stack
        // decides.
        if error.isAbsence, setting.mayBeMissing, !setting.supportsPendingWrites {
            return TokenKeepError(
                .notFound, "the module is not there: \(error.message)", module: name, isAbsence: true)
        }
        // An unusable module is an outage, unless the stack's line says that the module may be missing.
        var described = TokenKeepError(
            error.status, error.message, module: name, hint: error.hint,
            isAbsence: error.isAbsence && setting.mayBeMissing)
        described.changedNothing = error.changedNothing
        return described
    }
}

extension ItemDetails {
    /// The details that a module returns if it keeps only secrets.
    fileprivate var plain: ItemDetails { ItemDetails(name: name, label: name.defaultLabel, module: module) }
}

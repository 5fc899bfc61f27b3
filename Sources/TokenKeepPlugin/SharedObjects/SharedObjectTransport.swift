import TokenKeepCore
internal import TokenKeepHeaders

/// The transport to a shared object, with one open handle.
final class SharedObjectTransport: PluginTransport, @unchecked Sendable {
    private let object: SharedObject
    private let teller: UnsafeMutableRawPointer
    private let handle: UnsafeMutableRawPointer?

    /// Loads the file and opens a handle.
    init(_ file: ModuleFile, _ options: PluginOptions, _ call: PluginCall) throws(TokenKeepError) {
        let object = try SharedObject.load(file)
        let teller = HostTable.tellers.lend(ChangeTeller(options.changed))
        var handle: UnsafeMutableRawPointer?
        let status = SharedObjectTransport.withOptions(options, teller) { options in
            HostTable.lend(call) { object.table.open?(options, &handle, $0) ?? TOKENKEEP_INTERNAL }
        }
        self.object = object
        self.teller = teller
        self.handle = handle
        do throws(TokenKeepError) {
            _ = try call.items(
                after: SharedObjectTransport.status(status, opening: true), expecting: .handle)
        } catch {
            // If the module did not return OK, there is no handle to close.
            if status == TOKENKEEP_OK { close() } else { HostTable.tellers.reclaim(teller) }
            throw error
        }
    }

    var capabilities: PluginCapabilities {
        var capabilities = PluginCapabilities(rawValue: object.table.capabilities & 0xFFFF)
        if object.table.save != nil { capabilities.insert(.saves) }
        if object.table.list != nil { capabilities.insert(.lists) }
        return capabilities
    }

    func keepsMetadata(_ call: PluginCall) -> Bool { capabilities.contains(.keepsMetadata) }

    func load(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) -> AnsweredItem {
        let items = try ask(object.table.load, .item, call) { load, call in
            name.withCStrings { load(handle, $0, $1, $2, call) }
        }
        guard let item = items.first else { throw .foreign("no item") }
        return item
    }

    func save(_ item: TokenItem, _ call: PluginCall) throws(TokenKeepError) {
        _ = try ask(object.table.save, .nothing, call) { save, call in
            item.withModuleItem { save(handle, $0, call) }
        }
    }

    func clear(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) {
        _ = try ask(object.table.clear, .removal, call) { clear, call in
            name.withCStrings { clear(handle, $0, $1, $2, call) }
        }
    }

    func list(namespace: String, service: String?, _ call: PluginCall) throws(TokenKeepError) -> [AnsweredItem] {
        try ask(object.table.list, .list, call) { list, call in
            namespace.withCString { namespace in
                guard let service else { return list(handle, namespace, nil, call) }
                return service.withCString { list(handle, namespace, $0, call) }
            }
        }
    }

    func prepare(_ call: PluginCall) throws(TokenKeepError) {
        guard object.table.prepare != nil else { return }
        _ = try ask(object.table.prepare, .nothing, call) { prepare, call in prepare(handle, call) }
    }

    func report(_ call: PluginCall) throws(TokenKeepError) -> [String] {
        guard object.table.report != nil else { return [] }
        _ = try ask(object.table.report, .nothing, call) { report, call in report(handle, call) }
        return call.remarks
    }

    func rest() {}

    func close() {
        object.table.close?(handle)
        HostTable.tellers.reclaim(teller)
    }

    /// Calls a function of the module's table, and returns the items of the answer.
    ///
    /// - Throws: ``Status/unsupported`` if the module lacks the function.
    private func ask<Function>(
        _ function: Function?, _ expected: PluginCall.Expected, _ call: PluginCall,
        _ body: (Function, OpaquePointer) -> tokenkeep_status
    ) throws(TokenKeepError) -> [AnsweredItem] {
        guard let function else { throw TokenKeepError(.unsupported, "the module has no such operation") }
        try call.begin(expected)
        let status = HostTable.lend(call) { body(function, $0) }
        return try call.items(after: SharedObjectTransport.status(status), expecting: expected)
    }

    private static func status(_ number: tokenkeep_status, opening: Bool = false) throws(TokenKeepError) -> Status {
        guard let status = Status(rawValue: number), status.mayBeSaid(opening: opening) else {
            throw .foreign("a status that no module may give")
        }
        return status
    }

    private static func withOptions<Result>(
        _ options: PluginOptions, _ teller: UnsafeMutableRawPointer,
        _ body: (UnsafePointer<tokenkeep_module_options>) -> Result
    ) -> Result {
        CStringArray.lend(options.arguments) { arguments in
            options.name.withCString { name in
                var structure = tokenkeep_module_options()
                structure.struct_size = MemoryLayout<tokenkeep_module_options>.size
                structure.name = name
                structure.arguments = arguments.baseAddress
                structure.argument_count = options.arguments.count
                structure.changed_data = teller
                return withUnsafePointer(to: structure, body)
            }
        }
    }
}

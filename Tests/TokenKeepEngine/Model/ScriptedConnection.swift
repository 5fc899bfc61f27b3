import TokenKeepCore

/// One store's connection to the scripted service. Behaves like the module `secret-service`.
final class ScriptedConnection: BasicModule, @unchecked Sendable {
    let name: String
    let supportsPendingWrites = true
    var reportsModificationTime: Bool { service.reportsModificationTime }
    private let service: ScriptedService
    private let isConnected: Bool
    private let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey
    /// Whether the service did not answer and has not been heard of since, so that calls fail at once.
    private var isLeftAlone = false

    init(
        _ service: ScriptedService, isConnected: Bool,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.service = service
        name = service.name
        self.isConnected = isConnected
        self.versionKey = versionKey
    }

    var mayAnswer: Bool {
        if service.condition != .hung { isLeftAlone = false }
        return !isLeftAlone
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        guard let item = try ask(call, { [service] in service.items[name] }) else {
            throw TokenKeepError(.notFound, "no item \(name)", module: self.name)
        }
        return try versioned(item)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let found = try ask(call) { [service] in service.items[request.name] }
        let present = try found.map { (item) throws(TokenKeepError) in try versioned(item) }
        try request.check(present: present?.details)
        var details = request.details(replacing: present?.details, module: name)
        details.version = try versionKey().version(of: details, secret: request.secret)
        let saved = details
        try ask(call, isWrite: true) { [service] in service.put(saved, request.secret) }
        return details.version
    }

    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        guard service.takesSteps else { return try save(request, call) }
        let found = try ask(call) { [service] in service.items[request.name] }
        let present = try found.map { (item) throws(TokenKeepError) in try versioned(item) }
        try request.check(present: present?.details)
        return found == nil ? try save(request, call) : nil
    }

    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let found = try ask(call) { [service] in service.items[name] }
        if let version {
            let present = try found.map { (item) throws(TokenKeepError) in try versioned(item) }
            try SaveRequest.check(version: version, of: name, present: present?.details)
        }
        guard found != nil else { return false }
        return try ask(call, isWrite: true) { [service] in service.remove(name) }
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        let items = try ask(call) { [service = self.service] in Array(service.items.values) }
        let details = items.map(\.details).filter { $0.name.isIn(namespace: namespace, service: service) }
        return ItemListing(items: details)
    }

    func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? {
        Set(try ask(call) { [service] in service.items.keys.map(\.namespace) })
    }

    func prepare(_ call: CallContext) throws(TokenKeepError) { try ask(call) {} }

    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "a test") }

    private func versioned(_ item: TokenItem) throws(TokenKeepError) -> TokenItem {
        var details = item.details
        details.module = name  // a connection may have another name than the module that saved the item
        details.version = try versionKey().version(of: details, secret: item.secret)
        return TokenItem(details: details, secret: item.secret)
    }

    private func ask<Answer>(
        _ call: CallContext, isWrite: Bool = false, _ body: @escaping () -> Answer
    ) throws(TokenKeepError) -> Answer {
        guard isConnected else { throw TokenKeepError(.unavailable, "there is no bus", isAbsence: true) }
        guard mayAnswer else { throw TokenKeepError(.unavailable, "it did not answer an earlier call") }
        guard service.latency == 0 || call.deadline.remainingMilliseconds > service.latency else {
            throw TokenKeepError(.timedOut, "the answer comes later than the call ends")
        }
        do throws(TokenKeepError) {
            return try service.answer(isWrite: isWrite, body)
        } catch {
            if error.status == .timedOut { isLeftAlone = true }
            throw error
        }
    }
}

import TestSupport
import TokenKeepCore

@testable import TokenKeepSecretService

/// A module on a bus of a test's own, with short ways to use it.
struct ServiceClient {
    let module: SecretServiceModule
    let namespace: String

    init(_ bus: PrivateBus, namespace: String = "", timeout: UInt32 = Patience.milliseconds) throws {
        let key = try ItemVersionKey.random()
        module = SecretServiceModule(
            timeoutMilliseconds: timeout, address: bus.address, versionKey: { key })
        self.namespace = namespace
    }

    private init(_ module: SecretServiceModule, namespace: String) {
        self.module = module
        self.namespace = namespace
    }

    /// The same module with another namespace.
    func within(_ namespace: String) -> ServiceClient { ServiceClient(module, namespace: namespace) }

    func name(_ service: String, _ account: String) throws -> ItemName {
        try ItemName(namespace: namespace, service: service, account: account)
    }

    func call(_ milliseconds: UInt32 = Patience.milliseconds, prompts: Bool = false) -> CallContext {
        CallContext(deadline: Deadline(milliseconds: milliseconds), promptsAllowed: prompts)
    }

    func item(
        _ service: String, _ account: String, within milliseconds: UInt32 = Patience.milliseconds, prompts: Bool = false
    ) throws
        -> TokenItem
    {
        try module.load(name(service, account), call(milliseconds, prompts: prompts))
    }

    func load(
        _ service: String, _ account: String, within milliseconds: UInt32 = Patience.milliseconds, prompts: Bool = false
    ) throws
        -> String
    {
        try item(service, account, within: milliseconds, prompts: prompts).secret.utf8String ?? "(not text)"
    }

    @discardableResult
    func save(
        _ service: String, _ account: String, _ secret: String, within milliseconds: UInt32 = Patience.milliseconds,
        prompts: Bool = false,
        _ change: (inout SaveRequest) throws -> Void = { _ in }
    ) throws -> UInt64 {
        var request = try SaveRequest(name: name(service, account), secret: SecretBytes(secret))
        try change(&request)
        return try module.save(request, call(milliseconds, prompts: prompts))
    }

    func clear(
        _ service: String, _ account: String, version: UInt64? = nil,
        within milliseconds: UInt32 = Patience.milliseconds,
        prompts: Bool = false
    ) throws -> Bool {
        try module.clear(name(service, account), ifVersion: version, call(milliseconds, prompts: prompts))
    }

    func list(_ service: String? = nil, within milliseconds: UInt32 = Patience.milliseconds) throws -> [ItemDetails] {
        try module.list(namespace: namespace, service: service, call(milliseconds)).items
    }
}

/// The status that a call fails with; OK where it does not.
func status(_ body: () throws -> Void) -> Status {
    do {
        try body()
        return .ok
    } catch let error as TokenKeepError {
        return error.status
    } catch {
        return .internal
    }
}

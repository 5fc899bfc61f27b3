import TokenKeepCore

/// A module under test, with the operations that the cases use.
final class ConformanceSubject: Sendable {
    let module: any Module
    let namespace: String
    let keepsMetadata: Bool
    let timeoutMilliseconds: UInt32
    private let saved = MutexGuarded<Set<ItemName>>([])

    init(_ module: any Module, namespace: String, keepsMetadata: Bool, timeoutMilliseconds: UInt32) {
        self.module = module
        self.namespace = namespace
        self.keepsMetadata = keepsMetadata
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    var call: CallContext { CallContext(deadline: Deadline(milliseconds: timeoutMilliseconds)) }

    func name(_ service: String, _ account: String = "", in namespace: String? = nil) throws -> ItemName {
        try ItemName(namespace: namespace ?? self.namespace, service: service, account: account)
    }

    /// Saves an item. If the module cannot save, ends the case as not applicable.
    @discardableResult
    func save(
        _ name: ItemName, _ secret: [UInt8], if precondition: SaveRequest.Precondition = .none
    ) throws -> UInt64 {
        try save(SaveRequest(name: name, secret: SecretBytes(bytes: secret), precondition: precondition))
    }

    @discardableResult
    func save(_ request: SaveRequest) throws -> UInt64 {
        saved.withLock { _ = $0.insert(request.name) }
        do throws(TokenKeepError) {
            return try module.save(request, call)
        } catch {
            guard error.status != .unsupported else { throw Conformance.Finding.notApplicable("it saves nothing") }
            throw error
        }
    }

    /// Loads the item's secret; nil if there is no such item.
    func load(_ name: ItemName) throws -> [UInt8]? { try item(name).map { $0.secret.withUnsafeBytes { Array($0) } } }

    func item(_ name: ItemName) throws -> TokenItem? {
        do throws(TokenKeepError) {
            return try module.load(name, call)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    @discardableResult
    func clear(_ name: ItemName, ifVersion version: UInt64? = nil) throws -> Bool {
        try module.clear(name, ifVersion: version, call)
    }

    func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard holds else { throw Conformance.Finding.fault(otherwise()) }
    }

    /// Ends the case as failed if `body` does not throw `status`.
    func require(_ status: Status, _ what: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as TokenKeepError {
            return try require(error.status == status, "\(what) is \(error.status.name), not \(status.name)")
        }
        throw Conformance.Finding.fault("\(what) is OK, not \(status.name)")
    }

    /// Clears the items that the current case has saved.
    func cleanUp() {
        for name in saved.withLock({ $0 }) { _ = try? module.clear(name, ifVersion: nil, call) }
        saved.withLock { $0 = [] }
    }
}

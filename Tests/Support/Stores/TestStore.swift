package import TestSupport
package import TokenKeepCore
package import TokenKeepEngine
import TokenKeepKeys
package import TokenKeepRecords

/// The one vault of a test, and the stores that the test opens on it, each as another process would.
///
/// The stores have the limits that users have. `Store.put(_:_:)` and `Store.value(_:)` save and load.
package struct TestStore: Sendable {
    /// The default stack: the service, then the vault.
    package static let stack = "any sufficient secret-service\nany required vault"

    /// The directory of the vault.
    package let directory: TemporaryDirectory
    private let vault: String
    private let stack: String
    private let setUp: @Sendable (_ configuration: inout StoreConfiguration, _ isConnected: Bool) -> Void

    /// Names a vault that does not exist yet.
    ///
    /// - Parameters:
    ///   - vault: the vault's path, from the directory.
    ///   - stack: the stack of stores that do not name another one.
    ///   - setUp: gives a store its modules; without a connection to a service if `isConnected` is false.
    package init(
        in directory: TemporaryDirectory = TemporaryDirectory(inMemory: true), vault: String = "vault",
        stack: String = "any required vault",
        setUp: @escaping @Sendable (_ configuration: inout StoreConfiguration, _ isConnected: Bool) -> Void = { _, _ in
        }
    ) {
        self.directory = directory
        self.vault = vault
        self.stack = stack
        self.setUp = setUp
    }

    /// Names a vault beside the Secret Service of a bus.
    package init(
        _ bus: PrivateBus, in directory: TemporaryDirectory = TemporaryDirectory(inMemory: true),
        stack: String = TestStore.stack
    ) {
        let address = bus.address
        self.init(in: directory, stack: stack) { configuration, isConnected in
            configuration.busAddress = isConnected ? address : "unix:path=/nonexistent/bus"
        }
    }

    /// The path of the vault.
    package var path: String { "\(directory.path)/\(vault)" }

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - isConnected: whether the store reaches a service.
    ///   - configure: changes what the other parameters do not name.
    package func open(
        isConnected: Bool = true, stack: String? = nil, namespace: String = "",
        configure: (inout StoreConfiguration) -> Void = { _ in }
    ) throws(TokenKeepError) -> Store {
        var configuration = StoreConfiguration(stackText: stack ?? self.stack, namespace: namespace)
        configuration.vaultPath = path
        configuration.stackDirectories = .none
        setUp(&configuration, isConnected)
        configure(&configuration)
        return try Store(configuration)
    }

    // MARK: The journal

    /// The records of the vault, as another process opens them.
    package var records: Records { Records(at: path) }

    /// The record of an item; nil if it has none.
    package func record(_ account: String = "ann", namespace: String = "") throws(TokenKeepError) -> JournalRecord? {
        try records.record(of: name(account, namespace: namespace), .patient)
    }
}

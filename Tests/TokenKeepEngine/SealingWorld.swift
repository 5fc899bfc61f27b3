import StoreTestSupport
import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A vault with a password beside a real gnome-keyring, for tests of items that the vault seals for the keyring.
final class SealingWorld: @unchecked Sendable {
    let keyring: PrivateKeyring
    let directory = TemporaryDirectory(inMemory: true)
    let password: SecretBytes
    let store: Store
    let stack: String
    private let stores: TestStore

    /// - Parameter isBound: whether the vault is bound to a machine key that only this test has.
    init(
        stack: String = "any sufficient secret-service\nany required vault", hasPassword: Bool = true,
        isBound: Bool = false
    ) throws {
        self.stack = stack
        keyring = try PrivateKeyring()
        password = try SecretBytes("horse")
        stores = SealingWorld.stores(keyring, directory, stack)
        store = try stores.open()
        if hasPassword { try setPassword() }
        guard isBound else { return }
        _ = directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        _ = try store.device.choose(.machineKey) { () throws(TokenKeepError) in try SecretBytes("horse") }
    }

    /// Removes the vault's keys from the kernel, which allows a user only 200 keys.
    deinit { _ = try? store.lock() }

    func setPassword() throws {
        _ = try store.passwords.set(password)
    }

    /// Opens a further store, like another process: on the same vault, unless another one is named.
    func open(
        vault: String = "vault", stack: String? = nil, configure: (inout StoreConfiguration) -> Void = { _ in }
    ) throws -> Store {
        let path = "\(directory.path)/\(vault)"
        return try stores.open(stack: stack) {
            $0.vaultPath = path
            configure(&$0)
        }
    }

    /// Opens a further store, which may ask for the password.
    func openAsking(_ prompt: @escaping PromptHandler) throws -> Store {
        try open {
            $0.isInteractive = true
            $0.prompt = prompt
        }
    }

    private static func stores(
        _ keyring: PrivateKeyring, _ directory: TemporaryDirectory, _ stack: String
    ) -> TestStore {
        let (address, path) = (keyring.bus.address, directory.path)
        return TestStore(in: directory, stack: stack) { configuration, _ in
            configuration.timeoutMilliseconds = Patience.milliseconds
            configuration.busAddress = address
            var devices = Devices()
            devices.machineKeyPath = path + "/machine-key"
            devices.tpm.places = TPMPlaces(socket: path + "/no-tpm")
            devices.systemd.socket = path + "/no-systemd"
            configuration.residentKeys = ClassKeyStore(devices: devices)
        }
    }

    @discardableResult
    func save(
        _ secret: String, account: String = "ann", level: AccessLevel? = nil, flags: ItemFlags = [],
        label: String? = nil, in store: Store? = nil
    ) throws -> SaveOutcome {
        try (store ?? self.store).put(secret, account, level: level, flags: flags, label: label)
    }

    func load(_ account: String = "ann", in store: Store? = nil) throws -> String? {
        try (store ?? self.store).load(service: "example.com", account: account).secret.utf8String
    }

    func clear(_ account: String = "ann") throws -> Bool {
        try store.clear(service: "example.com", account: account)
    }

    /// The value that other programs find for the item; empty if they find none.
    func plain(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool("lookup", "service", "example.com", "username", account).output
    }

    /// The sealed text that the keyring has for an item.
    func sealed(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool(
            "lookup", "tokenkeep:service", "example.com", "tokenkeep:account", account
        ).output
    }

    /// Changes a sealed item as another program could. `change` is Python code with the item in `item`.
    func tamper(_ change: String, account: String = "ann") throws {
        let outcome = try keyring.bus.python(
            """
            import sys, gi
            gi.require_version('Secret', '1')
            from gi.repository import Secret
            service = Secret.Service.get_sync(Secret.ServiceFlags.LOAD_COLLECTIONS | Secret.ServiceFlags.OPEN_SESSION)
            def find(account):
                names = {'tokenkeep:service': 'example.com', 'tokenkeep:account': account}
                return service.search_sync(None, names, Secret.SearchFlags.LOAD_SECRETS, None)[0]
            item = find(sys.argv[1])
            \(change)
            """, account)
        guard outcome.status == 0 else { throw HarnessFailure(message: outcome.output) }
    }

    /// Stops the service, so that no call reaches it. `keyring.restart()` starts it again.
    func stopService() { keyring.stop() }

    /// Whether modules still hold items under older keys of the vault.
    func hasRetiringKeys() throws -> Bool {
        let report = try open().status().modules.first { $0.module == "vault" }
        return report?.remarks.contains { $0.hasPrefix("other modules hold items under older keys") } ?? true
    }
}

import Glibc
import TestSupport
import Testing
import TokenKeep
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The device of a vault, chosen by an application.
@Suite struct TokenStoreDeviceTests {
    private let directory = TemporaryDirectory()

    private func open() throws -> TokenStore {
        var devices = Devices()
        devices.machineKeyPath = directory.path + "/machine-key"
        devices.tpm.places = TPMPlaces(socket: directory.path + "/no-tpm")
        devices.systemd.socket = directory.path + "/no-systemd"
        return try TokenStore(
            TokenStore.Options(stackText: "any required vault"), vaultPath: directory.path + "/vault",
            residentKeys: ClassKeyStore(devices: devices))
    }

    private func save(_ store: TokenStore) async throws {
        var options = TokenStore.SaveOptions()
        options.accessibility = .afterFirstUnlockThisDeviceOnly
        try await store.save("secret", service: "s", account: "a", options: options)
    }

    @Test(.enabled(if: geteuid() == 0)) func anItemOfThisDeviceIsSavedAfterTheChoice() async throws {
        let store = try open()
        await expect(.unsupported) { try await save(store) }
        #expect(try await store.device == nil)
        _ = try MachineKey.make(at: directory.path + "/machine-key")
        #expect(try await store.chooseDevice() == .machineKey)
        #expect(try await store.device == .machineKey)
        try await save(store)
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "secret")
        await expect(.duplicate) { try await store.chooseDevice() }
    }

    @Test func aMachineWithoutADeviceIsUnavailable() async throws {
        let store = try open()
        await expect(.unavailable) { try await store.chooseDevice() }
        await expect(.unavailable) { try await store.chooseDevice(.tpm2) }
    }

    @Test(.enabled(if: geteuid() == 0)) func aVaultWithAPasswordAsksForIt() async throws {
        _ = try MachineKey.make(at: directory.path + "/machine-key")
        let store = try open()
        try await store.save("secret", service: "s", account: "b")
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = directory.path + "/vault"
        _ = try Store(configuration).passwords.set(SecretBytes("horse"))
        let words = "the vault's password is needed to bind the vault to a device"
        await expect(.locked, words) { try await store.chooseDevice() }
        await expect(.denied) { try await store.chooseDevice(password: TokenStore.Secret("wrong")) }
        #expect(try await store.chooseDevice(password: TokenStore.Secret("horse")) == .machineKey)
    }
}

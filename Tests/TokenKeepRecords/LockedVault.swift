import Glibc
import TestSupport
import TokenKeepCore

@testable import TokenKeepKeys

@testable import TokenKeepRecords

/// A vault of a test's own, whose keys leave the kernel's keyring with it.
final class LockedVault: @unchecked Sendable {
    let directory = TemporaryDirectory(inMemory: true)
    let call = CallContext(deadline: Deadline(milliseconds: 30_000))
    private let keyringObstacle: String?
    private let clock: (@Sendable () -> Int64)?
    let vault: Vault

    init(keyringObstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil) {
        self.keyringObstacle = keyringObstacle
        self.clock = clock
        vault = Vault(
            arena: SecretArena(), path: directory.path + "/vault", keyringObstacle: keyringObstacle, clock: clock)
    }

    deinit { _ = try? vault.lock() }

    var path: String { directory.path + "/vault" }

    /// The same vault as another process sees it.
    func other() -> Vault {
        Vault(arena: SecretArena(), path: path, keyringObstacle: keyringObstacle, clock: clock)
    }

    /// The same vault on another machine, whose kernel has none of its keys.
    func elsewhere() -> Vault { Vault(arena: SecretArena(), path: path, keyringObstacle: "another machine") }

    /// What a load ends with; ``Status/internal`` where it gives another value than ``save(_:_:level:flags:presence:)`` saves.
    func loading(_ account: String, from vault: Vault? = nil) -> Status {
        do {
            return try load(account, from: vault) == "secret" ? .ok : .internal
        } catch {
            return (error as? TokenKeepError)?.status ?? .internal
        }
    }

    /// How strong one axis is of a level, as the report says.
    func strength(
        _ axis: ProtectionAxis, of level: AccessLevel = .afterFirstUnlock, _ vault: Vault? = nil
    ) throws -> ProtectionStrength {
        try (vault ?? self.vault).protection(of: level, [])[axis].strength
    }

    func save(
        _ account: String, _ secret: String = "secret", level: AccessLevel? = nil, flags: ItemFlags = [],
        presence: PresenceGrant? = nil
    ) throws {
        let request = try SaveRequest(
            name: ItemName(service: "s", account: account), secret: SecretBytes(secret), accessLevel: level,
            flags: flags)
        _ = try VaultModule(vault: vault).save(request, presence.map { call.granting($0) } ?? call)
    }

    func load(_ account: String, from vault: Vault? = nil, presence: PresenceGrant? = nil) throws -> String? {
        let item = try VaultModule(vault: vault ?? self.vault).load(
            ItemName(service: "s", account: account), presence.map { call.granting($0) } ?? call)
        return item.secret.utf8String
    }

    func clear(_ account: String) throws -> Bool {
        try VaultModule(vault: vault).clear(ItemName(service: "s", account: account), ifVersion: nil, call)
    }

    @discardableResult
    func setPassword(_ password: String = "old") throws -> Vault.Unlocking {
        try vault.setPassword(SecretBytes(password), call)
    }

    @discardableResult
    func unlock(_ password: String = "old", _ vault: Vault? = nil) throws -> Vault.Unlocking {
        try (vault ?? self.vault).unlock(SecretBytes(password))
    }

    /// The bytes of a file of the vault.
    func file(_ name: String) -> [UInt8] { directory.read("vault/" + name) ?? [] }

    var records: [String] { directory.names(in: "vault/records").filter { $0.utf8.count == 32 } }

    /// The lines of the kernel's list of keys that are this vault's. What was replaced stays in it until it is collected.
    func kernelKeys() throws -> [String] {
        let id = RecordNames.fileName(try vault.open()?.keys.vaultID ?? [])
        guard let file = fopen("/proc/keys", "re") else { return [] }
        defer { fclose(file) }
        var lines: [String] = []
        var line = [CChar](repeating: 0, count: 1024)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.contains("tokenkeep:\(id)") { lines.append(text) }
        }
        return lines
    }
}

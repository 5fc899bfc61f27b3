import Glibc
import TestSupport
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A vault of a test's own, whose keys leave the kernel's keyring with it.
final class LockedVault: @unchecked Sendable {
    let directory = TemporaryDirectory(inMemory: true)
    var call: CallContext { .patient }
    private let keyringObstacle: String?
    private let clock: (@Sendable () -> Int64)?
    /// The devices of the test's machine, which has a machine key once ``bind(_:)`` made one.
    let devices: Devices
    let store: Store

    /// - Parameters:
    ///   - tpm: the TPM of the test's machine; nil for none.
    ///   - credentials: the path of its service for credentials; nil for none.
    init(
        keyringObstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil, tpm: TPMPlaces? = nil,
        credentials: String? = nil
    ) {
        self.keyringObstacle = keyringObstacle
        self.clock = clock
        var devices = Devices()
        devices.machineKeyPath = directory.path + "/machine-key"
        devices.tpm.places = tpm ?? TPMPlaces(socket: directory.path + "/no-tpm")
        devices.systemd.socket = credentials ?? directory.path + "/no-systemd"
        self.devices = devices
        store = LockedVault.store(
            directory.path + "/vault", ClassKeyStore(obstacle: keyringObstacle, clock: clock, devices: devices))
    }

    /// Whether a test may make a machine key, which must be root's.
    static let mayBind = geteuid() == 0

    /// Sets the password, if one is given, binds the vault to the TPM, and saves an item of each of these levels that it
    /// can keep.
    func bindToTPM(password: String? = "old", saving levels: [AccessLevel] = Levels.all) throws {
        if let password { try setPassword(password) }
        _ = try other().device.choose(.tpm2) { () throws(TokenKeepError) in try SecretBytes(password ?? "") }
        for level in levels where password != nil || level != .whenPasscodeSetThisDeviceOnly {
            try save(level.word, level: level)
        }
    }

    /// Binds the vault to a machine key.
    func bind(_ password: String? = nil, byte: UInt8 = 1) throws {
        _ = directory.writeMachineKey([UInt8](repeating: byte, count: 32))
        _ = try other().device.choose(.machineKey) { () throws(TokenKeepError) in try SecretBytes(password ?? "") }
    }

    deinit {
        guard let vaultID = (try? store.records.opener.vaultID()) ?? nil else { return }
        store.records.opener.residentKeys.removal.forget(vaultID)
    }

    /// A store of the vault alone.
    static func store(_ path: String, _ keys: ClassKeyStore) -> Store {
        var configuration = StoreConfiguration(
            stackText: "any required vault", timeoutMilliseconds: Patience.milliseconds)
        configuration.vaultPath = path
        configuration.residentKeys = keys
        do {
            return try Store(configuration)
        } catch {
            fatalError("\(error)")
        }
    }

    var path: String { directory.path + "/vault" }
    var records: Records { store.records }

    /// The same vault as another process sees it.
    func other() -> Store {
        LockedVault.store(path, ClassKeyStore(obstacle: keyringObstacle, clock: clock, devices: devices))
    }

    /// The same vault on another machine, whose kernel has none of its keys.
    ///
    /// - Parameters:
    ///   - tpm: its TPM; nil for that of the test's machine.
    ///   - credentials: the path of its service for credentials; nil for that of the test's machine.
    func elsewhere(_ tpm: TPMPlaces? = nil, credentials: String? = nil) -> Store {
        var devices = devices
        if let tpm { devices.tpm.places = tpm }
        if let credentials { devices.systemd.socket = credentials }
        return LockedVault.store(path, ClassKeyStore(obstacle: "another machine", devices: devices))
    }

    // MARK: Files

    /// The directory of the era in force, from ``directory``.
    var era: String { "vault/" + ((try? SystemCall.target(of: path + "/current", in: AT_FDCWD)) ?? "era-1") }

    /// The bytes of a file of the era in force.
    func file(_ name: String) -> [UInt8] { directory.read("\(era)/\(name)") ?? [] }

    /// Replaces a file of the era in force.
    func write(_ bytes: [UInt8], to name: String) { directory.write(bytes, to: "\(era)/\(name)") }

    /// Replaces both copies of the header.
    func putHeader(_ bytes: [UInt8]) {
        for name in HeaderFiles.names { write(bytes, to: name) }
    }

    /// The names of the record files.
    var recordFiles: [String] { directory.names(in: era + "/records").filter { $0.utf8.count == 32 } }

    /// Spoils the last byte of a file of the era in force.
    ///
    /// - Returns: the file as it is then.
    @discardableResult
    func spoil(_ name: String) -> [UInt8] {
        var bytes = file(name)
        bytes[bytes.count - 1] ^= 1
        write(bytes, to: name)
        return bytes
    }

    /// The name of the item's record file in the era in force.
    func recordFile(of account: String) throws -> String {
        guard let vault = try LockedVault.store(path, ClassKeyStore(obstacle: "a look")).records.opener.open() else {
            return ""
        }
        return Hexadecimal.text(vault.keys.fileName(of: try ItemName(service: "s", account: account)))
    }

    // MARK: Items

    /// The status of a load; ``Status/internal`` if it gives another value than
    /// ``save(_:_:level:flags:presence:in:)`` saves.
    func loading(_ account: String, from store: Store? = nil) -> Status {
        LockedVault.status {
            guard try load(account, from: store) == "secret" else {
                throw TokenKeepError(.internal, "another value")
            }
        }
    }

    /// The status with which something ends.
    static func status(_ body: () throws -> Void) -> Status {
        do {
            try body()
            return .ok
        } catch {
            return (error as? TokenKeepError)?.status ?? .internal
        }
    }

    /// The strength of one axis of a level's protection.
    func strength(
        _ axis: ProtectionAxis, of level: AccessLevel = .afterFirstUnlock, _ store: Store? = nil
    ) throws -> ProtectionStrength {
        try protection(of: level, [], store)[axis].strength
    }

    /// The protection of a level, as `tokenkeep status` and a save know it.
    func protection(
        of level: AccessLevel, _ flags: ItemFlags, _ store: Store? = nil
    ) throws -> Protection {
        let records = (store ?? self.store).records
        _ = records.opener.residentKeys.probe()
        return VaultProtection(try records.open(), records.opener.residentKeys).protection(of: level, flags)
    }

    func save(
        _ account: String, _ secret: String = "secret", level: AccessLevel? = nil, flags: ItemFlags = [],
        presence: PresenceGrant? = nil, in store: Store? = nil
    ) throws {
        let request = try SaveRequest(
            name: ItemName(service: "s", account: account), secret: SecretBytes(secret), accessLevel: level,
            flags: flags)
        _ = try VaultModule((store ?? self.store).records).save(request, presence.map { call.granting($0) } ?? call)
    }

    func load(_ account: String, from store: Store? = nil, presence: PresenceGrant? = nil) throws -> String? {
        let item = try VaultModule((store ?? self.store).records).load(
            ItemName(service: "s", account: account), presence.map { call.granting($0) } ?? call)
        return item.secret.utf8String
    }

    func clear(_ account: String) throws -> Bool {
        try VaultModule(records).clear(ItemName(service: "s", account: account), ifVersion: nil, call)
    }

    func list(_ store: Store? = nil) throws -> ItemListing {
        try VaultModule((store ?? self.store).records).list(namespace: "", service: nil, call)
    }

    // MARK: Passwords

    @discardableResult
    func setPassword(_ password: String = "old", _ store: Store? = nil) throws -> UnlockOutcome {
        try (store ?? self.store).passwords.set(SecretBytes(password))
    }

    @discardableResult
    func unlock(_ password: String = "old", _ store: Store? = nil) throws -> UnlockOutcome {
        try (store ?? self.store).unlock(SecretBytes(password))
    }

    @discardableResult
    func changePassword(
        from old: String = "old", to new: String = "new", isCompromised: Bool = false, _ store: Store? = nil
    ) throws -> UnlockOutcome {
        try (store ?? self.store).passwords.change(
            from: SecretBytes(old), to: SecretBytes(new), isCompromised: isCompromised)
    }

    @discardableResult
    func removePassword(
        _ password: String = "old", isDestroying: Bool = false, _ store: Store? = nil
    ) throws -> UnlockOutcome {
        try (store ?? self.store).passwords.remove(SecretBytes(password), isDestroying: isDestroying)
    }

    /// The presence keys, which a user's answer opens.
    func presence(_ password: String = "old", _ store: Store? = nil) throws -> PresenceGrant {
        try opened(password, store).presence
    }

    /// The vault with every key open that the password opens.
    func opened(_ password: String = "old", _ store: Store? = nil) throws -> UnlockedVault {
        let opener = (store ?? self.store).records.opener
        guard let vault = try opener.open() else { throw PasswordSlots.noPassword }
        return try PasswordSlots(opener).open(.password, with: SecretBytes(password), vault, call)
    }

    /// The lines of the kernel's list of keys that are this vault's. What was replaced stays in it until it is collected.
    func kernelKeys() throws -> [String] {
        let id = Hexadecimal.text(try records.opener.vaultID() ?? [])
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

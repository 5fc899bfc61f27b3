import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A vault as a vector describes it: what is loaded, what comes of it, and every file.
struct Vector: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var fields: [String: String] = [:]
    /// Every file; the bytes of a symbolic link are its target.
    var files: [(path: String, bytes: [UInt8], isLink: Bool)] = []

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors")

    /// The names of the archives with vectors of vaults.
    static let archives =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/vault")) ?? []).map { "vault/" + $0 }

    /// All vectors of vaults; without root's rights those that need no device, which must be root's.
    static let all: [Vector] = {
        let vectors = archives.flatMap { (try? VectorArchive.read($0)) ?? [] }
        return vectors.sorted { $0.testDescription < $1.testDescription }.filter { vector in
            geteuid() == 0
                || ["machine-key-base64", "tpm-base64", "systemd-base64"].allSatisfy { vector.fields[$0] == nil }
        }
    }()

    /// Writes the vault's files.
    func unpack(into directory: TemporaryDirectory) {
        var folders = Set(files.map { ($0.path as NSString).deletingLastPathComponent })
        for era in folders.compactMap({ $0.split(separator: "/").first }) {
            folders.formUnion(["\(era)", "\(era)/records"])
        }
        for folder in folders.union([""]).sorted() { mkdir(directory.path + "/vault/" + folder, 0o700) }
        for file in files {
            let path = "vault/" + file.path
            guard file.isLink else { directory.write(file.bytes, to: path); continue }
            symlink(String(decoding: file.bytes, as: UTF8.self), "\(directory.path)/\(path)")
        }
    }

    /// The files as they are in the directory now.
    func isUnchanged(in directory: TemporaryDirectory) -> Bool {
        files.allSatisfy { file in
            guard file.isLink else { return directory.read("vault/" + file.path) == file.bytes }
            let path = directory.path + "/vault/" + file.path
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
            return target == String(decoding: file.bytes, as: UTF8.self)
        }
    }

    /// The vault, whose keys in memory no other vector shares: vectors have the same vault, and one must not unlock another.
    func records(
        in directory: TemporaryDirectory, tpm: FakeTPM? = nil, credentials: FakeCredentials? = nil
    ) throws -> Records {
        var devices = Devices()
        devices.machineKeyPath = directory.path + "/machine-key"
        devices.tpm.places = tpm?.places ?? TPMPlaces(socket: directory.path + "/no-tpm")
        devices.systemd.socket = credentials?.path ?? directory.path + "/no-systemd"
        if let key = fields["machine-key-base64"].flatMap({ Data(base64Encoded: $0) }) {
            _ = directory.writeMachineKey(Array(key))
        }
        // A vector's trust key lies in the kernel, as after an unlock.
        let keys =
            fields["trust-base64"] == nil
            ? ClassKeyStore(obstacle: "this is a test", devices: devices)
            : ClassKeyStore(simulatingKernelAt: { 0 }, devices: devices)
        let opener = VaultOpener(path: directory.path + "/vault", residentKeys: keys)
        guard let encoded = fields["trust-base64"], let trust = HeaderTrust(payload: encoded) else {
            return Records(opener)
        }
        try keys.setTrust(trust, of: try #require(try opener.vaultID()))
        return Records(opener)
    }

    /// The TPM of the vector's machine; nil if it has none.
    func tpm() throws -> FakeTPM? {
        guard let data = fields["tpm-base64"].flatMap({ Data(base64Encoded: $0) }) else { return nil }
        let (bytes, tpm) = (Array(data), try FakeTPM())
        tpm.put(name: Array(bytes[..<34]), authValue: Array(bytes[34..<66]), secret: Array(bytes[66..<98]))
        var rest = bytes[98...]
        while rest.count > 53 {
            let index = Array(rest)
            let end = 53 + (index[4] == 1 ? 32 : HeaderAnchor.length)
            tpm.put(
                index: index[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) },
                authValue: Array(index[21..<53]), tag: Array(index[4..<21]), data: Array(index[53..<end]))
            rest = rest.dropFirst(end)
        }
        return tpm
    }

    /// The service for credentials of the vector's machine; nil if it has none.
    func credentials() throws -> FakeCredentials? {
        guard let data = fields["systemd-base64"].flatMap({ Data(base64Encoded: $0) }) else { return nil }
        let (bytes, service) = (Array(data), try FakeCredentials())
        service.put(secret: Array(bytes[..<32]), as: Array(bytes[32...]))
        return service
    }

    /// The name of the item that is loaded.
    func name() throws -> ItemName {
        let parts = try #require(fields["item"]).split(separator: "|", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        return try ItemName(namespace: String(parts[0]), service: String(parts[1]), account: String(parts[2]))
    }

    /// The item's secret, where it can be loaded.
    var secret: [UInt8]? { fields["secret-base64"].flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    /// What another module holds of an item that the vault sealed; nil where the item is the vault's own.
    func sealed() throws -> (details: ItemDetails, bytes: [UInt8])? {
        guard let words = fields["sealed"]?.split(separator: " ") else { return nil }
        let level = try #require(UInt32(words[0]).flatMap(AccessLevel.init(rawValue:)))
        let flags = ItemFlags(rawValue: try #require(UInt32(words[1])))
        let bytes = try #require(Data(base64Encoded: String(words.dropFirst(2).joined())))
        let details = ItemDetails(
            name: try name(), label: "", accessLevel: level, flags: flags, module: "secret-service")
        return (details, Array(bytes))
    }

    /// The sealed copies that the item's record names; nil if they cannot be read.
    func copies() throws -> SealedCopies? {
        guard let words = fields["note"]?.split(separator: " "), words.count >= 2 else { return nil }
        let level = try #require(UInt32(words[0]).flatMap(AccessLevel.init(rawValue:)))
        let flags = ItemFlags(rawValue: try #require(UInt32(words[1])))
        let holders = try words.dropFirst(2).map { word in
            let parts = word.split(separator: "/", omittingEmptySubsequences: false)
            try #require(parts.count == 4)
            let machine = try #require(Hexadecimal.bytes(String(parts[0]), count: 16))
            let keyIDs = try parts[2].split(separator: ",").map { try #require(UInt64($0, radix: 16)) }
            let fingerprints = try parts[3].split(separator: ",").map {
                try #require(Hexadecimal.bytes(String($0), count: 16))
            }
            return SealedCopies.Holder(
                module: String(parts[1]), machine: machine, keyIDs: keyIDs, fingerprints: fingerprints)
        }
        return SealedCopies(level: level, flags: flags, holders: holders)
    }

    /// The file inside the item's record of kind 4; nil if there is none, or it cannot be opened.
    var carried: [UInt8]? { fields["carried-base64"].flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    /// Unlocks the vault if the vector says with what.
    func unlock(_ records: Records, _ call: CallContext) throws(TokenKeepError) -> PresenceGrant? {
        let (type, typed): (KnownSlot.SlotType, SecretBytes)
        if let password = fields["password-base64"].flatMap({ Data(base64Encoded: $0) }) {
            (type, typed) = (.password, try SecretBytes(bytes: password))
        } else if let code = fields["code"] {
            (type, typed) = (.recovery, try RecoveryCode.normalized(SecretBytes(code)))
        } else {
            return nil
        }
        guard let vault = try records.openToUnlock() else { return nil }
        try records.testify(vault)
        let passwords = PasswordSlots(records.opener)
        let unlocked = try passwords.open(type, with: typed, vault, call)
        try passwords.keep(unlocked, call)
        return unlocked.presence
    }
}

extension HeaderTrust {
    /// What the kernel's trust key holds; nil if it breaks the rules.
    fileprivate init?(payload encoded: String) {
        guard let bytes = Data(base64Encoded: encoded),
            let trust = try? Array(bytes).lent({ bytes throws(FormatFault) in try HeaderTrust.parse(bytes) })
        else { return nil }
        self = trust
    }
}

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
    var files: [(path: String, bytes: [UInt8])] = []

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/vault")

    static let all: [Vector] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".vector") }.sorted().compactMap { name in
            try? Vector(name: name, bytes: Array(Data(contentsOf: folder.appending(path: name))))
        }
    }()

    init(name: String, bytes: [UInt8]) {
        testDescription = name
        var rest = bytes[...]
        func line() -> String {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest.dropFirst(line.count + 1)
            return String(decoding: line, as: UTF8.self)
        }
        while case let field = line(), !field.isEmpty {
            let parts = field.split(separator: ":", maxSplits: 1)
            fields[String(parts[0])] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        while !rest.isEmpty {
            let words = line().split(separator: " ")
            guard words.count == 3, words[0] == "---", let length = Int(words[2]) else { return }
            files.append((String(words[1]), Array(rest.prefix(length))))
            rest = rest.dropFirst(length + 1)
        }
    }

    /// Writes the vault's files.
    func unpack(into directory: TemporaryDirectory) {
        for folder in Set(files.map { ($0.path as NSString).deletingLastPathComponent } + ["", "records"]).sorted() {
            mkdir(directory.path + "/vault/" + folder, 0o700)
        }
        for file in files { directory.write(file.bytes, to: "vault/" + file.path) }
    }

    /// The files as they are in the directory now.
    func isUnchanged(in directory: TemporaryDirectory) -> Bool {
        files.allSatisfy { directory.read("vault/" + $0.path) == $0.bytes }
    }

    /// The vault, which shares its keys with those of other vectors: what one unlocks must stay locked for the others.
    func vault(in directory: TemporaryDirectory) -> Vault {
        Vault(arena: SecretArena(), path: directory.path + "/vault", keyringObstacle: "this is a test")
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

    /// The item's note; nil where it cannot be read.
    func note() throws -> SealedNote? {
        guard let words = fields["note"]?.split(separator: " "), words.count >= 2 else { return nil }
        let level = try #require(UInt32(words[0]).flatMap(AccessLevel.init(rawValue:)))
        let flags = ItemFlags(rawValue: try #require(UInt32(words[1])))
        let holders = try words.dropFirst(2).map { word in
            let parts = word.split(separator: "/", omittingEmptySubsequences: false)
            try #require(parts.count == 3)
            let machine = try #require(RecordNames.name(ofFile: String(parts[0])))
            let keyIDs = try parts[2].split(separator: ",").map { try #require(UInt64($0, radix: 16)) }
            return SealedNote.Holder(module: String(parts[1]), machine: machine, keyIDs: keyIDs)
        }
        return SealedNote(name: try name(), level: level, flags: flags, holders: holders)
    }

    /// Unlocks the vault where the vector says by what.
    func unlock(_ vault: Vault) throws(TokenKeepError) -> PresenceGrant? {
        if let password = fields["password-base64"].flatMap({ Data(base64Encoded: $0) }) {
            return try vault.unlock(SecretBytes(bytes: password)).presence
        }
        guard let code = fields["code"], let opened = try vault.open() else { return nil }
        let normalized = try RecoveryCode.normalized(SecretBytes(code), in: vault.arena)
        return vault.keep(try vault.openSlot(.recovery, with: normalized, opened.keys), of: opened).presence
    }
}

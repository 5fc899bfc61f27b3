import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepVault

/// A vault as a vector describes it: what is loaded, what comes of it, and every file.
private struct Vector: CustomTestStringConvertible, Sendable {
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
        mkdir(directory.path + "/vault", 0o700)
        mkdir(directory.path + "/vault/records", 0o700)
        for file in files { directory.write(file.bytes, to: "vault/" + file.path) }
    }

    /// The files as they are in the directory now.
    func isUnchanged(in directory: TemporaryDirectory) -> Bool {
        files.allSatisfy { directory.read("vault/" + $0.path) == $0.bytes }
    }
}

/// What docs/format.md promises, by vaults that another implementation wrote.
@Suite struct VectorTests {
    @Test func thereAreVectors() {
        #expect(Vector.all.count > 500)
        #expect(Set(Vector.all.compactMap { $0.fields["expect"] }).count >= 4)
    }

    @Test(arguments: Vector.all)
    fileprivate func reads(vector: Vector) throws {
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        // Vectors share their keys: what one unlocks must stay locked for the others.
        let vault = Vault(arena: SecretArena(), path: directory.path + "/vault", keyringObstacle: "this is a test")
        let module = VaultModule(vault: vault)
        let call = CallContext(deadline: Deadline(milliseconds: 5000))
        let parts = try #require(vector.fields["item"]).split(separator: "|", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let name = try ItemName(namespace: String(parts[0]), service: String(parts[1]), account: String(parts[2]))
        let (status, secret) = unlockAndLoad(name, from: vault, as: vector, call)
        #expect(status.name == vector.fields["expect"], "\(vector.fields["comment"] ?? "")")
        #expect(secret == vector.fields["secret-base64"].flatMap { Data(base64Encoded: $0) }.map { Array($0) })

        if let also = vector.fields["also"] {
            let words = also.split(separator: " ", omittingEmptySubsequences: false)
            let names = words[0].split(separator: "|", omittingEmptySubsequences: false)
            let other = try ItemName(namespace: name.namespace, service: String(names[0]), account: String(names[1]))
            let (otherStatus, otherSecret) = load(other, from: module, call)
            #expect(otherStatus == .ok)
            #expect(otherSecret == Data(base64Encoded: String(words[1])).map { Array($0) })
        }
        _ = try? module.list(namespace: "", service: nil, call)
        #expect(vector.isUnchanged(in: directory))
    }

    private func unlockAndLoad(
        _ name: ItemName, from vault: Vault, as vector: Vector, _ call: CallContext
    ) -> (Status, [UInt8]?) {
        do throws(TokenKeepError) {
            let presence = try unlock(vault, as: vector)
            return load(name, from: VaultModule(vault: vault), presence.map { call.granting($0) } ?? call)
        } catch {
            return (error.status, nil)
        }
    }

    /// Unlocks the vault where the vector says by what.
    private func unlock(_ vault: Vault, as vector: Vector) throws(TokenKeepError) -> PresenceGrant? {
        if let password = vector.fields["password-base64"].flatMap({ Data(base64Encoded: $0) }) {
            return try vault.unlock(SecretBytes(bytes: password)).presence
        }
        guard let code = vector.fields["code"], let opened = try vault.open() else { return nil }
        let normalized = try RecoveryCode.normalized(SecretBytes(code), in: vault.arena)
        return vault.keep(try vault.openSlot(.recovery, with: normalized, opened.keys), of: opened).presence
    }

    /// Fields of a later version outlive a save by this one, in the state and in the metadata.
    @Test(
        arguments: Vector.all.filter { $0.testDescription.contains("unknown-optional") && $0.fields["expect"] == "OK" })
    fileprivate func keepsFieldsItDoesNotKnow(vector: Vector) throws {
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        let vault = Vault(arena: SecretArena(), path: directory.path + "/vault")
        let call = CallContext(deadline: Deadline(milliseconds: 5000))
        let parts = try #require(vector.fields["item"]).split(separator: "|", omittingEmptySubsequences: false)
        let name = try ItemName(namespace: String(parts[0]), service: String(parts[1]), account: String(parts[2]))
        func kept() throws -> [[UInt8]] {
            var opened = try #require(try vault.open())
            let reader = RecordReader(
                vault: vault, records: try vault.records(of: opened.directory), fileName: opened.keys.fileName(of: name)
            )
            let fields = try #require(
                try reader.read(&opened) { file, state throws(FormatFault) in
                    state.kept + (try file.openMetadata(in: vault.arena).kept)
                })
            return try fields.get().map { $0.value.withUnsafeBytes { Array($0) } }
        }
        let before = try kept()
        #expect(!before.isEmpty)
        _ = try VaultModule(vault: vault).save(SaveRequest(name: name, secret: SecretBytes("new")), call)
        #expect(try kept() == before)
    }

    private func load(_ name: ItemName, from module: VaultModule, _ call: CallContext) -> (Status, [UInt8]?) {
        do {
            return (.ok, try module.load(name, call).secret.withUnsafeBytes { Array($0) })
        } catch {
            return ((error as TokenKeepError).status, nil)
        }
    }
}

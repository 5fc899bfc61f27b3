import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A pipe, a device, a link or a directory in place of a file of the vault: a typed error at once, and nothing is
/// written through it.
@Suite struct SpecialFileTests {
    private let directory = TemporaryDirectory()
    private let call = CallContext.patient
    private var vault: String { directory.path + "/vault" }

    private enum Kind: CaseIterable { case pipe, link, danglingLink, folder, device }

    private static let files = ["lock", "changes", "current", "keyfile", "header", "header.2", "record"]
    private static let folders = ["records", "pending", "holders", "used"]
    private static let pairs = files.flatMap { file in Kind.allCases.map { (file, $0) } }

    private func records() -> Records {
        Records(VaultOpener(path: vault, residentKeys: ClassKeyStore(obstacle: "this is a test")))
    }

    private func module() -> VaultModule { VaultModule(records()) }

    /// Puts something else in place of a file; false if this process may not make it.
    private func put(_ kind: Kind, at path: String) -> Bool {
        rename(path, directory.path + "/moved")
        switch kind {
        case .pipe: return mkfifo(path, 0o600) == 0
        case .link:
            directory.write([1, 2, 3], to: "target")
            return symlink(directory.path + "/target", path) == 0
        case .danglingLink: return symlink(directory.path + "/nowhere", path) == 0
        case .folder: return mkdir(path, 0o700) == 0
        case .device: return mknod(path, S_IFCHR | 0o600, 0x103) == 0  // as /dev/null
        }
    }

    private func path(of file: String) throws -> String {
        if ["lock", "changes", "current"].contains(file) { return "\(vault)/\(file)" }
        guard file == "record" else { return "\(vault)/era-1/\(file)" }
        return "\(vault)/era-1/records/" + (try #require(directory.names(in: "vault/era-1/records").first))
    }

    /// Runs every operation; the statuses that they end with.
    private func statuses() -> [String: Status] {
        let ann = Result { try name() }
        let attempts: [(String, () throws -> Void)] = [
            ("load", { _ = try module().load(ann.get(), call) }), ("save", { _ = try module().put("secret", "ann") }),
            ("clear", { _ = try module().clear(ann.get(), ifVersion: nil, call) }),
            (
                "list",
                { if let problem = try module().list(namespace: "", service: nil, call).problem { throw problem } }
            ),
        ]
        var statuses: [String: Status] = [:]
        for (word, attempt) in attempts {
            do {
                try attempt()
                statuses[word] = .ok
            } catch {
                statuses[word] = (error as? TokenKeepError)?.status ?? .internal
            }
        }
        return statuses
    }

    @Test(arguments: SpecialFileTests.pairs)
    private func aFileThatIsNoRegularFileIsRefusedAtOnce(file: String, kind: Kind) throws {
        try module().put("secret", "ann")
        let path = try path(of: file)
        guard put(kind, at: path) else { return }
        let limit = Deadline.patient
        let statuses = statuses()
        #expect(!limit.hasPassed)
        let expected: [String: Status] =
            switch file {
            case "lock", "changes":
                ["load": .ok, "save": .corrupt, "clear": .corrupt, "list": .ok]
            // A record that cannot be read is set aside by the next save; a directory cannot be.
            case "record" where kind != .folder: ["load": .corrupt, "save": .ok, "clear": .ok, "list": .ok]
            // The header has a second copy.
            case "header", "header.2": ["load": .ok, "save": .ok, "clear": .ok, "list": .ok]
            default: ["load": .corrupt, "save": .corrupt, "clear": .corrupt, "list": .corrupt]
            }
        #expect(statuses == expected, "\(file) \(kind)")
        #expect(directory.read("target") ?? [1, 2, 3] == [1, 2, 3])
        #expect(directory.read("nowhere") == nil)
        #expect(try SystemCall.status(of: directory.path + "/moved", in: AT_FDCWD) != nil)
    }

    @Test func anEraThatIsNoDirectoryIsRefusedAtOnce() throws {
        for kind in [Kind.pipe, .link, .danglingLink, .device] {
            try module().put("secret", "ann")
            guard put(kind, at: vault + "/era-1") else { continue }
            #expect(Set(statuses().values) == [.corrupt], "\(kind)")
            unlink(vault + "/era-1")
            rename(directory.path + "/moved", vault + "/era-1")
        }
    }

    @Test(arguments: SpecialFileTests.folders)
    func aFolderThatIsNoneIsRefusedAtOnce(folder: String) throws {
        for kind in [Kind.pipe, .link, .danglingLink, .device] {
            try module().put("secret", "ann")
            guard put(kind, at: "\(vault)/era-1/\(folder)") else { continue }
            let limit = Deadline.patient
            var statuses = statuses()
            if folder == "used" { statuses["mark"] = markingStatus() }
            #expect(!limit.hasPassed)
            #expect(!statuses.values.contains(.internal), "\(folder) \(kind): \(statuses)")
            if folder == "records" { #expect(!statuses.values.contains(.ok)) }
            if folder == "used" { #expect(statuses["mark"] == .io) }
            unlink("\(vault)/era-1/\(folder)")
            rename(directory.path + "/moved", "\(vault)/era-1/\(folder)")
        }
    }

    private func markingStatus() -> Status {
        do throws(TokenKeepError) {
            try records().journal.markUsed("m", call)
            return .ok
        } catch {
            return error.status
        }
    }
}

import Foundation
import Glibc

/// The orders in which a vault is removed, restored, exchanged and made anew.
public enum Replacement: CaseIterable, Sendable {
    case removed, removedStepByStep, removedTwice, removedWithItsParent, removedWithAllParents
    case movedAwayAndBack, restored, restoredByRename, restoredOverAnEmptyDirectory
    case exchanged, exchangedTwice, newBeforeTheOldIsRemoved, linkToAnother
}

/// A vault below two directories and a symbolic link, which tests replace.
///
public final class ReplacedVault: Sendable {
    private let directory: TemporaryDirectory
    private let make: @Sendable (String) throws -> Void

    /// - Parameter make: makes a vault with another item at a path.
    public init(_ make: @escaping @Sendable (String) throws -> Void) {
        directory = TemporaryDirectory(inMemory: true)
        self.make = make
        makeParents()
        symlink("homes", directory.path + "/link")
    }

    /// The vault's path, which leads through the link.
    public var vault: String { directory.path + "/link/ann/data/vault" }
    /// A place for a copy.
    public var copyPath: String { directory.path + "/copy" }
    private var homes: String { directory.path + "/homes" }

    private func makeParents() {
        for folder in ["/homes", "/homes/ann", "/homes/ann/data"] { mkdir(directory.path + folder, 0o700) }
    }

    /// Removes a file, or a directory with everything in it.
    public func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }
    /// Renames a file.
    public func move(_ path: String, to other: String) throws { try run("mv", "-T", path, other) }
    /// Copies a file as a backup's program does.
    public func copy(_ path: String, to other: String) throws { try run("cp", "-aT", path, other) }

    /// Replaces the vault.
    ///
    /// - Parameter between: called after each step.
    public func replace(_ how: Replacement, _ between: () throws -> Void) throws {
        switch how {
        case .removed: try remove(vault)
        case .removedStepByStep: try removeStepByStep(between)
        case .removedTwice:
            for _ in 1...2 {
                try removeStepByStep(between)
                try between()
                try make(vault)
                try between()
            }
            try removeStepByStep(between)
        case .removedWithItsParent: try removeParents(1, between)
        case .removedWithAllParents: try removeParents(3, between)
        case .movedAwayAndBack:
            try move(vault, to: copyPath)
            try between()
            try move(copyPath, to: vault)
        case .restored, .restoredByRename, .restoredOverAnEmptyDirectory: try restore(how, between)
        case .exchanged, .exchangedTwice:
            try make(copyPath)
            for _ in 1...(how == .exchanged ? 1 : 2) {
                try exchange(vault, copyPath)
                try between()
            }
        case .newBeforeTheOldIsRemoved:
            try make(copyPath)
            try move(vault, to: directory.path + "/old")
            try between()
            try move(copyPath, to: vault)
            try between()
            try remove(directory.path + "/old")
        case .linkToAnother: try linkToAnother(between)
        }
        try between()
    }

    private func removeStepByStep(_ between: () throws -> Void) throws {
        try remove(vault + "/changes")
        try between()
        try remove(vault)
    }

    /// Removes the vault and the directories above it, which another process has open, and makes the directories again.
    private func removeParents(_ count: Int, _ between: () throws -> Void) throws {
        try removeStepByStep(between)
        try between()
        var path = homes + "/ann/data"
        for _ in 0..<count {
            let holder = open(path, O_RDONLY | O_DIRECTORY)
            defer { close(holder) }
            try remove(path)
            try between()
            path = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        }
        makeParents()
    }

    private func restore(_ how: Replacement, _ between: () throws -> Void) throws {
        try copy(vault, to: copyPath)
        try removeStepByStep(between)
        try between()
        switch how {
        case .restored: try copy(copyPath, to: vault)
        case .restoredByRename: try move(copyPath, to: vault)
        default:
            mkdir(vault, 0o700)
            try between()
            let holder = open(vault, O_RDONLY | O_DIRECTORY)
            defer { close(holder) }
            guard rename(copyPath, vault) == 0 else { throw HarnessFailure(message: "rename: \(errno)") }
        }
    }

    private func linkToAnother(_ between: () throws -> Void) throws {
        for folder in ["/others", "/others/ann", "/others/ann/data"] { mkdir(directory.path + folder, 0o700) }
        try make(directory.path + "/others/ann/data/vault")
        symlink("others", directory.path + "/link2")
        guard rename(directory.path + "/link2", directory.path + "/link") == 0 else {
            throw HarnessFailure(message: "rename: \(errno)")
        }
        try between()
        try remove(homes)
    }

    /// Exchanges two vaults in one step.
    private func exchange(_ one: String, _ other: String) throws {
        let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/exchange.py"
        try run("python3", program, one, other)
    }

    private func run(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw HarnessFailure(message: "\(arguments) failed") }
    }
}

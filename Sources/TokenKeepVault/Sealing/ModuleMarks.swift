import Glibc
import SystemPackage
import TokenKeepCore

/// A module of a stack on one machine.
struct ModuleMark: Equatable {
    let module: String
    let machine: MachineID

    /// `MODULE@MACHINE`, the machine's id in hexadecimal.
    var fileName: String { module + "@" + RecordNames.fileName(machine.bytes) }

    init(module: String, machine: MachineID) {
        self.module = module
        self.machine = machine
    }

    /// nil where a file is none.
    init?(fileName: String) {
        guard let at = fileName.utf8.lastIndex(of: UInt8(ascii: "@")), at != fileName.startIndex,
            let machine = RecordNames.name(ofFile: String(fileName[fileName.index(after: at)...]))
        else { return nil }
        self.init(module: String(fileName[..<at]), machine: MachineID(bytes: machine))
    }
}

/// A directory of the vault with a file for each module of which something is noted.
struct ModuleMarks {
    /// What is noted.
    enum Kind: String {
        /// Items were written to it.
        case used
        /// It got items that the vault sealed. The file holds the epoch of the header under which they were last sealed anew.
        case sealed
    }

    private static let epochLength = 8
    private let notes: RecordNotes

    init(_ kind: Kind, _ vault: VaultDirectory) { notes = RecordNotes(folder: kind.rawValue, vault: vault) }

    /// Notes, durably, whatever was noted before.
    func add(_ mark: ModuleMark) throws(TokenKeepError) {
        guard try !has(mark) else { return }
        let folder = try notes.openOrMake(isDurable: true)
        do throws(Errno) {
            _ = try SystemCall.open(mark.fileName, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
            try SystemCall.sync(folder)
        } catch {
            throw error.error("cannot note that \(mark.module) is used")
        }
    }

    func has(_ mark: ModuleMark) throws(TokenKeepError) -> Bool {
        do throws(Errno) {
            let path = notes.folder + "/" + mark.fileName
            return try SystemCall.status(of: path, in: notes.vault.descriptor.number) != nil
        } catch {
            throw error.error("cannot inspect \(notes.vault.path)/\(notes.folder)")
        }
    }

    /// Removes, durably.
    ///
    /// - Returns: whether it was there.
    func remove(_ mark: ModuleMark) throws(TokenKeepError) -> Bool {
        guard let folder = try notes.open() else { return false }
        do throws(Errno) {
            let wasThere = try SystemCall.remove(mark.fileName, in: folder)
            try SystemCall.sync(folder)
            return wasThere
        } catch {
            throw error.error("cannot forget that \(mark.module) is used")
        }
    }

    func isAnyThere() throws(TokenKeepError) -> Bool { try !all().isEmpty }

    func all() throws(TokenKeepError) -> [ModuleMark] {
        guard let folder = try notes.open() else { return [] }
        return try VaultFiles.names(in: folder).compactMap { ModuleMark(fileName: $0) }
    }

    /// The epoch that a mark holds; 0 where it holds none.
    func epoch(of mark: ModuleMark) throws(TokenKeepError) -> UInt64 {
        guard let folder = try notes.open(),
            let bytes = try VaultFiles.read(mark.fileName, in: folder, atMost: ModuleMarks.epochLength),
            bytes.count == ModuleMarks.epochLength
        else { return 0 }
        return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Replaces, durably, the epoch that a mark holds.
    func setEpoch(_ epoch: UInt64, of mark: ModuleMark) throws(TokenKeepError) {
        let folder = try notes.openOrMake(isDurable: true)
        var writer = ByteWriter()
        writer.append(integer: epoch)
        try writer.bytes.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(mark.fileName, in: folder, with: bytes)
        }
    }
}

import Glibc
import SystemPackage
public import TokenKeepCore

extension Vault {
    /// Whether any record may owe something to a module. False needs no key; a vault that was not made owes nothing.
    ///
    /// - Throws: why that cannot be told.
    public func mayOwe() throws(TokenKeepError) -> Bool {
        guard let directory = try VaultDirectory.open(try path()) else { return false }
        return try !OwedHints(directory).areNone()
    }

    /// The records that owe something.
    public struct OwingRecords: Sendable {
        /// Records with values, and tombstones, by their file names in binary.
        public var records: [[UInt8]: JournalRecord] = [:]
        /// The first record that could not be read.
        public var problem: TokenKeepError?
        /// How many could not be read; those that are locked are among the records.
        public var unreadable = 0
        fileprivate var keys: KeyHierarchy?

        /// The record of an item, where it owes something.
        public func record(of name: ItemName) -> JournalRecord? {
            keys.flatMap { records[$0.fileName(of: name)] }
        }
    }

    /// Every record that owes something.
    public func owingRecords() throws(TokenKeepError) -> OwingRecords {
        var found = OwingRecords()
        guard var opened = try open() else { return found }
        found.keys = opened.keys
        let records = try records(of: opened.directory)
        for name in try OwedHints(opened.directory).all() {
            let reader = RecordReader(vault: self, records: records, fileName: name)
            switch try reader.read(&opened, { file, state throws(FormatFault) in try journalRecord(file, state) }) {
            case nil: continue
            case .failure(let fault):
                found.problem = found.problem ?? reader.error(fault)
                found.unreadable += 1
            case .success(let record) where record.debts.isEmpty: continue
            case .success(let record):
                found.records[name] = record
                guard let locked = record.locked else { continue }
                found.problem = found.problem ?? locked
            }
        }
        return found
    }

    /// Whether there is a vault.
    public func exists() throws(TokenKeepError) -> Bool { try open() != nil }

    /// Changes before and after every change of a record: an absence counts only if it stayed the same meanwhile.
    public func generation() throws(TokenKeepError) -> UInt64 {
        guard let directory = try VaultDirectory.open(try path()) else { return 0 }
        return try Generation.read(in: directory)
    }

    /// Notes, durably, that items are about to be written to a module on a machine.
    public func markUsed(_ module: String, machine: MachineID, _ call: CallContext) throws(TokenKeepError) {
        guard try !hasUsed(module, machine: machine) else { return }
        let directory = try openOrMake(call).directory
        do throws(Errno) {
            if try SystemCall.makeDirectory("used", in: directory.descriptor.number) {
                try SystemCall.sync(directory.descriptor)
            }
            guard let folder = try SystemCall.open("used", in: directory.descriptor.number, O_RDONLY | O_DIRECTORY)
            else { throw Errno.noSuchFileOrDirectory }
            _ = try SystemCall.openRegular(
                Vault.marker(module, machine), in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
            try SystemCall.sync(folder)
        } catch {
            throw error.error("cannot note that \(module) is used")
        }
    }

    /// Whether items were ever written to a module on a machine.
    public func hasUsed(_ module: String, machine: MachineID) throws(TokenKeepError) -> Bool {
        guard let directory = try VaultDirectory.open(try path()) else { return false }
        do throws(Errno) {
            let path = "used/" + Vault.marker(module, machine)
            return try SystemCall.status(of: path, in: directory.descriptor.number) != nil
        } catch {
            throw error.error("cannot inspect \(directory.path)/used")
        }
    }

    static func marker(_ module: String, _ machine: MachineID) -> String {
        module + "@" + RecordNames.fileName(machine.bytes)
    }
}

import Glibc
import SystemPackage
public import TokenKeepCore

extension Vault {
    /// Removes, durably, the note that items were written to a module on a machine, or on any for nil; see
    /// ``markUsed(_:machine:_:)``.
    ///
    /// - Returns: whether there was one.
    public func unmarkUsed(_ module: String, machine: MachineID?) throws(TokenKeepError) -> Bool {
        guard let directory = try VaultDirectory.open(try path()) else { return false }
        let folder: OwnedDescriptor
        do throws(Errno) {
            guard let opened = try SystemCall.open("used", in: directory.descriptor.number, O_RDONLY | O_DIRECTORY)
            else { return false }
            folder = opened
        } catch {
            throw error.error("cannot forget that \(module) is used")
        }
        let markers = try markers(of: module, machine, in: folder)
        do throws(Errno) {
            var wasThere = false
            for marker in markers where try SystemCall.remove(marker, in: folder) { wasThere = true }
            try SystemCall.sync(folder)
            return wasThere
        } catch {
            throw error.error("cannot forget that \(module) is used")
        }
    }

    private func markers(
        of module: String, _ machine: MachineID?, in folder: OwnedDescriptor
    ) throws(TokenKeepError) -> [String] {
        if let machine { return [Vault.marker(module, machine)] }
        // No module's name has an @.
        return try VaultFiles.names(in: folder).filter { $0.hasPrefix(module + "@") }
    }

    /// Notes that a module on a machine, or on any for nil, holds nothing sealed any more.
    public func forgetSealed(
        in module: String, machine: MachineID?, _ call: CallContext
    ) throws(TokenKeepError) {
        guard let opened = try open() else { return }
        let notes = SealedNotes(opened, in: arena)
        let isForgotten = { (holder: SealedNote.Holder) in
            holder.module == module && (machine == nil || holder.machine == machine?.bytes)
        }
        for name in try notes.all().filter({ $0.holders.contains(where: isForgotten) }).map(\.name) {
            let hold = try hold(name, call)
            defer { hold?.end() }
            try notes.removeHolders(of: name, where: isForgotten)
        }
    }

    /// Removes the hints of records that owe nothing, which a crash may leave: each costs every reader a look.
    ///
    /// A hint whose item another process holds stays.
    public func removeStaleHints(_ call: CallContext) throws(TokenKeepError) {
        guard var opened = try open() else { return }
        let records = try records(of: opened.directory)
        let hints = OwedHints(opened.directory)
        for name in try hints.all() {
            let reader = RecordReader(vault: self, records: records, fileName: name)
            guard try owesNothing(reader, &opened) else { continue }
            guard let lock = try? VaultLock(.item(name: name), of: opened.directory, call) else { continue }
            defer { lock.release() }
            if try owesNothing(reader, &opened) { try hints.remove(name) }
        }
    }

    /// False where the record cannot be read.
    private func owesNothing(_ reader: RecordReader, _ opened: inout Opened) throws(TokenKeepError) -> Bool {
        switch try reader.read(&opened, { _, state throws(FormatFault) in state.debts.isEmpty }) {
        case nil: true
        case .success(let isEmpty): isEmpty
        case .failure: false
        }
    }
}

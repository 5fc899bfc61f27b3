public import TokenKeepCore

extension Vault {
    /// Removes, durably, the notes that items were written to a module on a machine, sealed ones too; see
    /// ``markUsed(_:machine:_:)``.
    ///
    /// - Returns: whether there was one.
    public func unmarkUsed(_ module: String, machine: MachineID) throws(TokenKeepError) -> Bool {
        guard let directory = try VaultDirectory.open(try path()) else { return false }
        let mark = ModuleMark(module: module, machine: machine)
        let hadSealed = try ModuleMarks(.sealed, directory).remove(mark)
        return try ModuleMarks(.used, directory).remove(mark) || hadSealed
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

import TokenKeepKeys
package import TokenKeepRecords

extension Records {
    /// The records of the vault at a path, opened as another process opens them.
    package convenience init(at path: String, machine: MachineID = .current) {
        self.init(VaultOpener(path: path, residentKeys: ClassKeyStore()), machine: machine)
    }
}

extension JournalRecord {
    /// Whether the record has a value, and no change is pending on any machine.
    package var isHome: Bool { holdsValue && pending.isEmpty }
    /// Whether the record has a value, and changes are pending.
    package var isPending: Bool { holdsValue && !pending.isEmpty }
}

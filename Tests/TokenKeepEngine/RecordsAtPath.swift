import TokenKeepKeys
import TokenKeepRecords

extension Records {
    /// The records of the vault at a path, as another process opens them.
    convenience init(at path: String, machine: MachineID = .current) {
        self.init(VaultOpener(path: path, residentKeys: ClassKeyStore()), machine: machine)
    }
}

extension JournalRecord {
    /// Whether it has a value, and nothing is pending anywhere.
    var isHome: Bool { holdsValue && pending.isEmpty }
    /// Whether it has a value, and changes are pending.
    var isPending: Bool { holdsValue && !pending.isEmpty }
}

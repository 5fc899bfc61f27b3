/// The keys of a vault that an unlock keeps for later calls: all but the header key and the presence key.
extension KeyRing {
    /// Whether every current key of the header is open, except the header key and the presence key, which no unlock
    /// keeps.
    package var isWhollyOpen: Bool {
        header.listedKeys.filter { !$0.isRetiring && $0.isResident }.allSatisfy { isOpen($0.purpose) }
    }

    /// The open keys among those that an unlock keeps, retiring keys included.
    package func residentKeys() -> [OpenKey] {
        header.listedKeys.filter(\.isResident).compactMap { listed in
            guard let bytes = try? key(listed.id, for: listed.purpose) else { return nil }
            return OpenKey(purpose: listed.purpose, isRetiring: listed.isRetiring, id: listed.id, bytes: bytes)
        }
    }
}

extension ListedKey {
    fileprivate var isResident: Bool { purpose != .presence && purpose != .header }
}

import CSodium

/// Random check bytes directly before and after each secret. A write beyond the secret's bounds changes these bytes.
///
/// The first byte after a secret is zero, so that the secret is also a C string.
struct CellCanary: Sendable {
    static let count = 16

    private let before: (UInt64, UInt64)
    private let behind: (UInt64, UInt64)

    /// Chooses the random bytes. The caller must have called `Sodium.start()`.
    init() {
        before = (CellCanary.random(), CellCanary.random())
        behind = ((CellCanary.random() & ~0xFF).littleEndian, CellCanary.random())
    }

    func write(around cell: GuardedCell) {
        CellCanary.store(before, at: cell.address - CellCanary.count)
        CellCanary.store(behind, at: cell.address + cell.count)
    }

    func isIntact(around cell: GuardedCell) -> Bool {
        CellCanary.load(cell.address - CellCanary.count) == before
            && CellCanary.load(cell.address + cell.count) == behind
    }

    private static func random() -> UInt64 {
        var bits: UInt64 = 0
        randombytes_buf(&bits, MemoryLayout<UInt64>.size)
        return bits
    }

    private static func store(_ halves: (UInt64, UInt64), at address: UnsafeMutableRawPointer) {
        address.storeBytes(of: halves.0, as: UInt64.self)
        address.storeBytes(of: halves.1, toByteOffset: 8, as: UInt64.self)
    }

    private static func load(_ address: UnsafeMutableRawPointer) -> (UInt64, UInt64) {
        (address.loadUnaligned(as: UInt64.self), address.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}

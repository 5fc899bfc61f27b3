/// The size class of a slot. Each class has room for four times the bytes of the class before it.
enum SizeClass: Int, CaseIterable, Sendable {
    case bytes64
    case bytes256
    case bytes1024
    case bytes4096
    case bytes16384
    /// A region with one slot, as large as its secret needs.
    case ownPages

    /// The smallest class for a secret of `count` bytes.
    init(for count: Int) {
        self =
            switch count {
            case ...64: .bytes64
            case ...256: .bytes256
            case ...1024: .bytes1024
            case ...4096: .bytes4096
            case ...16384: .bytes16384
            default: .ownPages
            }
    }

    /// The size of a slot: a secret and a canary on each side; nil for ``ownPages``.
    var slotSize: Int? { self == .ownPages ? nil : SizeClass.slotSize(for: 64 << (2 * rawValue)) }

    /// The size of a region for a secret of `count` bytes.
    ///
    /// The kernel zeroes the pages of a region when it locks them: about 1 µs per page. The kernel grants 65 530
    /// mappings. With two mappings per region, they are enough for 100 000 secrets of up to 16 KiB.
    func regionSize(for count: Int) -> Int {
        switch self {
        case .bytes64, .bytes256, .bytes1024: 16384
        case .bytes4096: 65536
        case .bytes16384: 4 * SizeClass.slotSize(for: 16384)
        case .ownPages: SizeClass.slotSize(for: count)
        }
    }

    private static func slotSize(for count: Int) -> Int { count + 2 * SlotCanary.count }
}

/// The size of a cell (the memory for one secret). Each size holds four times as many bytes as the size before it.
enum SizeClass: Int, CaseIterable, Sendable {
    case bytes64
    case bytes256
    case bytes1024
    case bytes4096
    case bytes16384
    /// A separate memory region for one large secret. The region is as large as the secret needs.
    case ownPages

    /// Chooses the smallest size for a secret of `count` bytes.
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

    /// The number of bytes for a secret and the check bytes (canary) on each side; nil for ``ownPages``.
    var cellSize: Int? { self == .ownPages ? nil : SizeClass.cellSize(for: 64 << (2 * rawValue)) }

    /// The number of bytes to map for a region with cells of this size.
    ///
    /// A larger region takes longer to map, because the kernel zeroes each page that is locked into memory (about 1 µs
    /// each). Smaller regions need more mappings, and the kernel allows a process 65 530 mappings. Each region uses two
    /// mappings, so a process has room for 100 000 secrets of up to 16 KiB.
    ///
    /// - Parameter count: the secret's length in bytes, which only ``ownPages`` uses.
    func regionSize(for count: Int) -> Int {
        switch self {
        case .bytes64, .bytes256, .bytes1024: 16384
        case .bytes4096: 65536
        case .bytes16384: 4 * SizeClass.cellSize(for: 16384)
        case .ownPages: SizeClass.cellSize(for: count)
        }
    }

    private static func cellSize(for count: Int) -> Int { count + 2 * CellCanary.count }
}

/// A range of guarded memory, divided into equal cells for one secret each. The pool's lock protects all variables.
final class GuardedRegion: @unchecked Sendable {
    let sizeClass: SizeClass
    let pages: GuardedPages
    private(set) var isLocked: Bool
    /// The index of this region in its ``RegionList``.
    var position = 0

    private let cellSize: Int
    private let cellCount: Int
    /// The memory of the cells, each of which holds one secret. The last cell ends where the guard page begins.
    private let cells: UnsafeMutableRawBufferPointer
    /// The indices of the free memory cells. The cell that was freed last is used first.
    private var freeCells: [UInt16]

    /// Maps a memory region and locks the region into memory; nil if the kernel provides no memory.
    ///
    /// - Parameter count: the length of the secret, if the region is for a single secret.
    init?(of sizeClass: SizeClass, for count: Int) {
        guard let pages = GuardedPages(count: sizeClass.regionSize(for: count)) else { return nil }
        self.sizeClass = sizeClass
        self.pages = pages
        isLocked = pages.lock()
        cellSize = sizeClass.cellSize ?? pages.bytes.count
        cellCount = pages.bytes.count / cellSize
        cells = UnsafeMutableRawBufferPointer(rebasing: pages.bytes.suffix(cellCount * cellSize))
        freeCells = (0..<UInt16(clamping: cellCount)).reversed()
    }

    var isFull: Bool { freeCells.isEmpty }
    var isEmpty: Bool { freeCells.count == cellCount }

    /// Marks a memory cell as used and returns its bytes; nil if no cell is free.
    func takeCell() -> UnsafeMutableRawBufferPointer? {
        guard let index = freeCells.popLast() else { return nil }
        let start = Int(index) * cellSize
        return UnsafeMutableRawBufferPointer(rebasing: cells[start..<start + cellSize])
    }

    /// Marks the memory cell that contains `address` as free.
    func returnCell(at address: UnsafeMutableRawPointer) {
        guard let base = cells.baseAddress else { return }
        freeCells.append(UInt16(clamping: (address - base) / cellSize))
    }

    /// Locks the pages into memory again: in a child of fork(), or after other locked memory was released.
    func lockAgain() { isLocked = pages.lock() }
}

/// The memory regions with cells of one size: first the regions with a free cell, then the full regions.
struct RegionList: Sendable {
    private(set) var regions: [GuardedRegion] = []
    private var availableCount = 0

    /// A memory region with a free cell; nil if there is none.
    var available: GuardedRegion? { availableCount == 0 ? nil : regions[availableCount - 1] }

    /// Adds a memory region. At least one cell of the region must be free.
    mutating func insert(_ region: GuardedRegion) {
        region.position = regions.count
        regions.append(region)
        becameAvailable(region)
    }

    /// Puts a memory region, whose last free cell has just been taken, among the full regions.
    mutating func becameFull(_ region: GuardedRegion) {
        availableCount -= 1
        move(region, to: availableCount)
    }

    /// Puts a full memory region, in which a cell is about to be freed, among the regions with free cells.
    mutating func becameAvailable(_ region: GuardedRegion) {
        move(region, to: availableCount)
        availableCount += 1
    }

    /// Removes a memory region. At least one cell of the region must be free.
    mutating func remove(_ region: GuardedRegion) {
        becameFull(region)
        move(region, to: regions.count - 1)
        regions.removeLast()
    }

    private mutating func move(_ region: GuardedRegion, to position: Int) {
        let other = regions[position]
        regions.swapAt(region.position, position)
        (other.position, region.position) = (region.position, position)
    }
}

/// Guarded pages divided into slots of one size. The pool's lock guards everything that changes in it.
final class GuardedRegion: @unchecked Sendable {
    let sizeClass: SizeClass
    let pages: GuardedPages
    private(set) var isLocked: Bool
    /// The index in the region's ``RegionList``.
    var position = 0

    private let slotCount: Int
    /// Indices of the free slots. The slot that was freed last is the next one used.
    private var freeSlots: [UInt16]

    /// Maps and locks a region. nil if the kernel refuses the mapping.
    ///
    /// - Parameter count: the length of the secret, if the region is for one secret alone.
    init?(of sizeClass: SizeClass, for count: Int) {
        guard let pages = GuardedPages(count: sizeClass.regionSize(for: count)) else { return nil }
        self.sizeClass = sizeClass
        self.pages = pages
        isLocked = pages.lock()
        slotCount = sizeClass.slotSize.map { pages.bytes.count / $0 } ?? 1
        freeSlots = (0..<UInt16(clamping: slotCount)).reversed()
    }

    var isFull: Bool { freeSlots.isEmpty }
    var isEmpty: Bool { freeSlots.count == slotCount }

    /// Marks a slot as used and returns its bytes. nil if the region is full.
    func takeSlot() -> UnsafeMutableRawBufferPointer? {
        guard let index = freeSlots.popLast() else { return nil }
        let size = pages.bytes.count / slotCount
        return UnsafeMutableRawBufferPointer(rebasing: pages.bytes[Int(index) * size..<(Int(index) + 1) * size])
    }

    /// Marks the slot that contains `address` as free.
    func returnSlot(at address: UnsafeMutableRawPointer) {
        guard let base = pages.bytes.baseAddress else { return }
        freeSlots.append(UInt16(clamping: (address - base) / (pages.bytes.count / slotCount)))
    }

    /// Locks the pages again: in a child of fork(), or after other locked memory was released.
    func lockAgain() { isLocked = pages.lock() }
}

/// The regions of one size class. Those with a free slot come first, then the full ones.
struct RegionList: Sendable {
    private(set) var regions: [GuardedRegion] = []
    private var availableCount = 0

    /// A region with a free slot, or nil.
    var available: GuardedRegion? { availableCount == 0 ? nil : regions[availableCount - 1] }

    /// Adds a region with a free slot.
    mutating func insert(_ region: GuardedRegion) {
        region.position = regions.count
        regions.append(region)
        becameAvailable(region)
    }

    /// Moves a region whose last free slot was taken behind those with free slots.
    mutating func becameFull(_ region: GuardedRegion) {
        availableCount -= 1
        move(region, to: availableCount)
    }

    /// Moves a full region with a slot freed to those with free slots.
    mutating func becameAvailable(_ region: GuardedRegion) {
        move(region, to: availableCount)
        availableCount += 1
    }

    /// Removes a region with a free slot.
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

/// How large a slot is. A slot holds the secret's bytes and a canary on each side.
enum SizeClass: Int, CaseIterable, Sendable {
    case bytes64
    case bytes256
    case bytes1024
    case bytes4096
    case bytes16384
    /// A region with one slot, as large as its secret needs.
    case ownPages

    /// nil if each slot has pages of its own.
    var slotSize: Int? { self == .ownPages ? nil : 64 << (2 * rawValue) }

    /// The smallest class for a secret of `count` bytes.
    init(for count: Int) {
        self = SizeClass.allCases.first { $0.slotSize.map { $0 - 2 * SlotCanary.count >= count } ?? true } ?? .ownPages
    }

    /// 16 KiB at least, and 16 slots at least.
    func regionSize(for count: Int) -> Int {
        guard let slotSize else { return count + 2 * SlotCanary.count }
        return max(16384, 16 * slotSize)
    }
}

/// A range of guarded memory, divided into slots of one size for one secret each. The pool's lock protects all
/// variables.
final class GuardedRegion: @unchecked Sendable {
    let sizeClass: SizeClass
    let pages: GuardedPages
    private(set) var isLocked: Bool
    /// The index of this region in its ``RegionList``.
    var position = 0

    private let slotSize: Int
    private let slotCount: Int
    /// The memory of the slots, each of which holds one secret. The last slot ends where the guard page begins.
    private let slots: UnsafeMutableRawBufferPointer
    /// The indices of the free memory slots. The slot that was freed last is used first.
    private var freeSlots: [UInt16]

    /// Maps a memory region and locks the region into memory; nil if the kernel gives no memory.
    ///
    /// - Parameter count: the length of the secret, if the region is for a single secret.
    init?(of sizeClass: SizeClass, for count: Int) {
        guard let pages = GuardedPages(count: sizeClass.regionSize(for: count)) else { return nil }
        self.sizeClass = sizeClass
        self.pages = pages
        isLocked = pages.lock()
        slotSize = sizeClass.slotSize ?? pages.bytes.count
        slotCount = pages.bytes.count / slotSize
        slots = UnsafeMutableRawBufferPointer(rebasing: pages.bytes.suffix(slotCount * slotSize))
        freeSlots = (0..<UInt16(clamping: slotCount)).reversed()
    }

    var isFull: Bool { freeSlots.isEmpty }
    var isEmpty: Bool { freeSlots.count == slotCount }

    /// Marks a memory slot as used and returns its bytes; nil if no slot is free.
    func takeSlot() -> UnsafeMutableRawBufferPointer? {
        guard let index = freeSlots.popLast() else { return nil }
        let start = Int(index) * slotSize
        return UnsafeMutableRawBufferPointer(rebasing: slots[start..<start + slotSize])
    }

    /// Marks the memory slot that contains `address` as free.
    func returnSlot(at address: UnsafeMutableRawPointer) {
        guard let base = slots.baseAddress else { return }
        freeSlots.append(UInt16(clamping: (address - base) / slotSize))
    }

    /// Locks the pages into memory again: in a child of fork(), or after other locked memory was released.
    func lockAgain() { isLocked = pages.lock() }
}

/// The memory regions with slots of one size: first the regions with a free slot, then the full regions.
struct RegionList: Sendable {
    private(set) var regions: [GuardedRegion] = []
    private var availableCount = 0

    /// A memory region with a free slot; nil if there is none.
    var available: GuardedRegion? { availableCount == 0 ? nil : regions[availableCount - 1] }

    /// Adds a memory region. At least one slot of the region must be free.
    mutating func insert(_ region: GuardedRegion) {
        region.position = regions.count
        regions.append(region)
        becameAvailable(region)
    }

    /// Puts a memory region, whose last free slot has just been taken, among the full regions.
    mutating func becameFull(_ region: GuardedRegion) {
        availableCount -= 1
        move(region, to: availableCount)
    }

    /// Puts a full memory region, in which a slot is about to be freed, among the regions with free slots.
    mutating func becameAvailable(_ region: GuardedRegion) {
        move(region, to: availableCount)
        availableCount += 1
    }

    /// Removes a memory region. At least one slot of the region must be free.
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

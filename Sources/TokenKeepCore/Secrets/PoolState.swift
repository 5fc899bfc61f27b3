/// The memory regions of a ``GuardedPool``. The pool's lock protects them.
struct PoolState: Sendable {
    typealias Cell = (region: GuardedRegion, bytes: UnsafeMutableRawBufferPointer)

    /// The memory regions with at least one used cell, in one list for each cell size.
    private var lists = [RegionList](repeating: RegionList(), count: SizeClass.allCases.count)
    /// The empty memory regions that are kept for reuse, at most one for each cell size.
    private var spares = [GuardedRegion?](repeating: nil, count: SizeClass.allCases.count)
    private(set) var regionCount = 0
    /// The number of memory regions that are not locked into memory.
    private(set) var unlockedCount = 0
    /// True in a child of fork() until the child has locked its regions, because a child does not inherit memory locks.
    var mustLockAgain = false

    /// Adds a new memory region to the pool.
    mutating func add(_ region: GuardedRegion) {
        lists[region.sizeClass.rawValue].insert(region)
        regionCount += 1
        if !region.isLocked { unlockedCount += 1 }
    }

    /// Marks a free cell of this size as used, and returns the cell with its region; nil if no cell is free.
    mutating func takeCell(of sizeClass: SizeClass) -> Cell? {
        if mustLockAgain { lockAgain() }
        let index = sizeClass.rawValue
        if lists[index].available == nil, let spare = spares[index] {
            lists[index].insert(spare)
            spares[index] = nil
        }
        guard let region = lists[index].available, let cell = region.takeCell() else { return nil }
        if region.isFull { lists[index].becameFull(region) }
        return (region, cell)
    }

    /// Frees a memory cell.
    ///
    /// - Returns: the region, which the caller must unmap, if it is now empty and not kept for reuse; otherwise nil.
    mutating func returnCell(at address: UnsafeMutableRawPointer, of region: GuardedRegion) -> GuardedRegion? {
        let index = region.sizeClass.rawValue
        if region.isFull { lists[index].becameAvailable(region) }
        region.returnCell(at: address)
        guard region.isEmpty else { return nil }
        lists[index].remove(region)
        if spares[index] == nil, region.sizeClass != .ownPages {
            spares[index] = region
            if !region.isLocked { lockAgain(region) }
            return nil
        }
        regionCount -= 1
        if !region.isLocked { unlockedCount -= 1 }
        return region
    }

    /// Locks every region into memory, because a child of fork() does not inherit the locks.
    private mutating func lockAgain() {
        mustLockAgain = false
        for region in lists.flatMap(\.regions) + spares.compactMap({ $0 }) { lockAgain(region) }
    }

    private mutating func lockAgain(_ region: GuardedRegion) {
        let wasLocked = region.isLocked
        region.lockAgain()
        if wasLocked != region.isLocked { unlockedCount += wasLocked ? 1 : -1 }
    }
}

import Glibc

/// Zeroed memory pages between two guard pages, excluded from core dumps.
///
/// An access to a guard page ends the process with a signal.
struct GuardedPages {
    static let pageSize = sysconf(Int32(_SC_PAGESIZE))

    let bytes: UnsafeMutableRawBufferPointer

    /// Maps at least `count` bytes, rounded up to whole pages; nil if the kernel refuses the memory.
    init?(count: Int) {
        guard count > 0, count <= Int.max / 2 else { return nil }
        let (guardPage, access) = (GuardedPages.pageSize, PROT_READ | PROT_WRITE)
        let length = (count + guardPage - 1) / guardPage * guardPage
        let mapping = mmap(nil, length + 2 * guardPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapping, mapping != MAP_FAILED else { return nil }
        bytes = UnsafeMutableRawBufferPointer(start: mapping + guardPage, count: length)
        guard mprotect(mapping + guardPage, length, access) == 0,
            madvise(mapping + guardPage, length, MADV_DONTDUMP) == 0
        else {
            release()
            return nil
        }
    }

    /// Locks the pages into memory; false if the kernel refuses, for example beyond the limit RLIMIT_MEMLOCK.
    ///
    /// A child of fork() does not inherit the lock.
    func lock() -> Bool { mlock(bytes.baseAddress, bytes.count) == 0 }

    /// Unmaps the pages and their guard pages. The caller must have wiped the pages.
    func release() {
        guard let base = bytes.baseAddress else { return }
        munmap(base - GuardedPages.pageSize, bytes.count + 2 * GuardedPages.pageSize)
    }
}

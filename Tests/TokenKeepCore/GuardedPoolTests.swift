import Glibc
import TestSupport
import Testing
import TokenKeepCore

@Suite struct GuardedPoolTests {
    private let pool = GuardedPool()

    @Test(arguments: [0, 1, 16, 63, 64, 65, 1024, 16384, 16385, 1 << 20])
    func aCellIsZeroedAlignedAndEndsWithNUL(count: Int) throws {
        for _ in 0..<2 {
            let cell = try pool.allocate(count)
            #expect(cell.count == count && Int(bitPattern: cell.address) % 16 == 0)
            #expect(cell.bytes.isFilled(with: 0) && cell.byte(at: count) == 0)
            cell.bytes.fill(with: 0xA5)
            pool.free(cell)
        }
    }

    @Test func noMemoryIsAnError() {
        for count in [-1, Int.max, Int.max / 2, 1 << 50] {
            #expect(throws: TokenKeepError(.io, "")) { try pool.allocate(count) }
        }
    }

    @Test(arguments: [40, 64, 300, 16384]) func aFreedCellIsWipedAtOnce(count: Int) throws {
        let (neighbour, cell) = (try pool.allocate(count), try pool.allocate(count))
        cell.bytes.fill(with: 0xA5)
        pool.free(cell)  // the neighbour keeps the region mapped
        #expect((-16..<count + 16).allSatisfy { cell.byte(at: $0) == 0 })
        pool.free(neighbour)
    }

    @Test func growsAndShrinksByRegions() throws {
        #expect(pool.regionCount == 0)
        let cells = try (0..<1000).map { _ in try pool.allocate(64) }
        let grown = pool.regionCount
        #expect(grown > 2 && grown < 20)
        for cell in cells.dropLast(10) { pool.free(cell) }
        #expect(pool.regionCount < grown)
        for cell in cells.suffix(10) { pool.free(cell) }
        #expect(pool.regionCount == 1, "an empty region is kept")
        let large = try pool.allocate(1 << 20)
        #expect(pool.regionCount == 2)
        pool.free(large)
        #expect(pool.regionCount == 1, "pages of a large secret are not kept")
    }

    /// The same region serves every turn: nothing is mapped or unmapped.
    @Test(arguments: [32, 1024, 16384]) func aLoopOfLoadsKeepsItsRegion(count: Int) throws {
        let first = try pool.allocate(count)
        pool.free(first)
        for _ in 0..<1000 {
            let cell = try pool.allocate(count)
            #expect(cell.address == first.address && pool.regionCount == 1)
            pool.free(cell)
        }
    }

    @Test func threadsDoNotShareCells() {
        let faults = MutexGuarded(0)
        let threads = (1...8).map { number in
            TestThread { [pool] in
                let wrong = churn(pool, pattern: UInt8(number), rounds: 4000)
                faults.withLock { $0 += wrong }
            }
        }
        for thread in threads { thread.join() }
        #expect(faults.withLock { $0 } == 0)
        #expect(pool.regionCount <= 5, "one empty region of each size class")
    }

    @Test func aHundredThousandSecretsLive() throws {
        var secrets = try (0..<100_000).map { number in
            try SecretBytes(count: 100) { $0.fill(with: UInt8(number & 255)) }
        }
        let wrong = secrets.enumerated().filter { number, secret in
            secret.withUnsafeBytes { !UnsafeMutableRawBufferPointer(mutating: $0).isFilled(with: UInt8(number & 255)) }
        }
        #expect(wrong.isEmpty)
        secrets = []
    }

    @Test(arguments: [40, 300, 20000]) func isLeftOutOfCoreDumps(count: Int) throws {
        let cell = try pool.allocate(count)
        let flags = try #require(flagsOfMapping(at: UnsafeRawPointer(cell.address)))
        #expect(flags.contains("dd"))
        if try pool.isLocked(), !sanitizerIgnoresLocks { #expect(flags.contains("lo")) }
        pool.free(cell)
    }
}

/// Holds up to 16 secrets of random sizes at a time and returns how many of them changed.
func churn(_ pool: GuardedPool, pattern: UInt8, rounds: Int) -> Int {
    var (cells, wrong): ([GuardedCell], Int) = ([], 0)
    for round in 0..<rounds {
        let count = Int.random(in: 0...(round.isMultiple(of: 50) ? 20000 : 1500))
        guard let cell = try? pool.allocate(count) else { return -1 }
        if !cell.bytes.isFilled(with: 0) { wrong += 1 }
        cell.bytes.fill(with: pattern)
        cells.append(cell)
        guard cells.count == 16 || round == rounds - 1 else { continue }
        for cell in cells.shuffled() {
            if !cell.bytes.isFilled(with: pattern) { wrong += 1 }
            pool.free(cell)
        }
        cells = []
    }
    return wrong
}

/// AddressSanitizer and ThreadSanitizer replace mlock(2) by a function that does nothing.
let sanitizerIgnoresLocks = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

extension GuardedCell {
    func byte(at offset: Int) -> UInt8 { (address + offset).load(as: UInt8.self) }
}

// By functions of C: loops over single bytes take minutes under ThreadSanitizer.
extension UnsafeMutableRawBufferPointer {
    fileprivate func fill(with byte: UInt8) {
        if let baseAddress { memset(baseAddress, Int32(byte), count) }
    }

    fileprivate func isFilled(with byte: UInt8) -> Bool {
        guard let baseAddress, let first else { return true }
        return first == byte && memcmp(baseAddress, baseAddress + 1, count - 1) == 0
    }
}

/// The flags that the kernel shows for the mapping of an address (VmFlags of /proc/self/smaps).
func flagsOfMapping(at address: UnsafeRawPointer) -> [Substring]? {
    guard let file = fopen("/proc/self/smaps", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    var isWanted = false
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let bounds = text.prefix { $0 != " " }.split(separator: "-").compactMap { UInt(String($0), radix: 16) }
        if bounds.count == 2 { isWanted = (bounds[0]..<bounds[1]).contains(UInt(bitPattern: address)) }
        if isWanted, text.hasPrefix("VmFlags:") { return text.dropLast().split(separator: " ") }
    }
    return nil
}

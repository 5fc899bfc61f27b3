import Glibc
import TestSupport
import Testing
import TokenKeepCore

/// What ends or changes a whole process: each test has one of its own.
@Suite struct GuardedPoolProcessTests {
    @Test(arguments: [0, 1, 40, 64, 1000, 16384, 20000, 1 << 20]) func anOverrunByOneByteAborts(count: Int) async {
        await #expect(processExitsWith: .signal(SIGABRT)) { [count] in
            let cell = try GuardedPool.shared.allocate(count)
            cell.address.storeBytes(of: 1, toByteOffset: count, as: UInt8.self)
            GuardedPool.shared.free(cell)
        }
    }

    @Test(arguments: [0, 1, 40, 64, 1000, 16384, 20000, 1 << 20]) func anUnderrunByOneByteAborts(count: Int) async {
        await #expect(processExitsWith: .signal(SIGABRT)) { [count] in
            let cell = try GuardedPool.shared.allocate(count)
            (cell.address - 1).storeBytes(of: ~cell.byte(at: -1), as: UInt8.self)
            GuardedPool.shared.free(cell)
        }
    }

    /// The guard page is at most 32 bytes behind a large secret, and a region away from a small one.
    @Test(arguments: [(20000, 32), (64, 16384), (16384, 70000)]) func aFarOverrunFaults(count: Int, distance: Int) async
    {
        await #expect(processExitsWith: .exitCode(77)) { [count, distance] in
            let cell = try GuardedPool.shared.allocate(count)
            signal(SIGSEGV) { _ in _exit(77) }
            exitAfterReading(cell, at: count...count + distance)
        }
    }

    @Test(arguments: [(20000, 4096), (64, 16384), (16384, 70000)]) func aFarUnderrunFaults(count: Int, distance: Int)
        async
    {
        await #expect(processExitsWith: .exitCode(77)) { [count, distance] in
            let cell = try GuardedPool.shared.allocate(count)
            signal(SIGSEGV) { _ in _exit(77) }
            exitAfterReading(cell, at: -distance ... -1)
        }
    }

    /// Threads use the pool during each fork: one of them often holds its lock.
    ///
    /// Under ThreadSanitizer Swift takes a lock at each access to a global, which a child may inherit locked.
    @Test(.enabled(if: dlsym(nil, "__tsan_init") == nil)) func aChildOfForkReadsAllocatesAndFrees() async {
        await #expect(processExitsWith: .success) {
            let secret = try SecretBytes("of the parent")
            let isLocked = try GuardedPool.shared.isLocked()
            let goesOn = MutexGuarded(true)
            let threads = (1...2).map { number in
                TestThread {
                    while goesOn.withLock({ $0 }) { _ = churn(.shared, pattern: UInt8(number), rounds: 100) }
                }
            }
            for _ in 0..<200 {
                let outcome = inChild {
                    guard secret.utf8String == "of the parent" else { return 1 }
                    guard churn(.shared, pattern: 3, rounds: 20) == 0 else { return 2 }
                    guard isLocked, !sanitizerIgnoresLocks else { return 0 }
                    guard (try? GuardedPool.shared.isLocked()) == true else { return 3 }
                    return flagsOfMapping(at: secret.unsafeAddress)?.contains("lo") == true ? 0 : 4
                }
                #expect(outcome == 0)
            }
            goesOn.withLock { $0 = false }
            for thread in threads { thread.join() }
            #expect(secret.utf8String == "of the parent")
        }
    }

    @Test(.enabled(if: !sanitizerIgnoresLocks)) func aProcessThatMayLockNoMemoryWorksAndSaysSo() async {
        await #expect(processExitsWith: .success) {
            limitLockedMemory(to: 0)
            let isLockedAtFirst = try GuardedPool.shared.isLocked()
            #expect(churn(.shared, pattern: 1, rounds: 1000) == 0)
            let isLocked = try GuardedPool.shared.isLocked()
            #expect(!isLockedAtFirst && !isLocked)
        }
    }

    @Test(.enabled(if: !sanitizerIgnoresLocks)) func secretsBeyondTheLimitAreNotCalledLocked() async {
        await #expect(processExitsWith: .success) {
            limitLockedMemory(to: 65536)
            #expect(try GuardedPool.shared.isLocked())
            var secrets = try (0..<1000).map { _ in try SecretBytes(randomCount: 200) }
            #expect(try GuardedPool.shared.isLocked() == false)
            #expect(secrets.allSatisfy { $0.count == 200 })
            secrets = []
            #expect(try GuardedPool.shared.isLocked())
        }
    }
}

/// Sets RLIMIT_MEMLOCK and gives up root, for which it does not count.
private func limitLockedMemory(to bytes: UInt) {
    var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
    #expect(setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
    if geteuid() == 0 { #expect(setuid(65534) == 0) }
}

/// Runs `body` in a forked child and returns its result. A child that hangs is ended after twenty minutes.
private func inChild(_ body: () -> Int32) -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    guard let symbol = dlsym(nil, "fork") else { return -1 }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 {
        alarm(1200)
        _exit(body())
    }
    var outcome: Int32 = -1
    waitpid(child, &outcome, 0)
    return outcome
}

/// Reads the bytes around a secret, and exits with a code that depends on them: the optimiser removes unused reads.
private func exitAfterReading(_ cell: GuardedCell, at offsets: ClosedRange<Int>) {
    let sum = offsets.reduce(into: UInt8(0)) { sum, offset in sum &+= cell.byte(at: offset) }
    _exit(sum.isMultiple(of: 2) ? 0 : 1)
}

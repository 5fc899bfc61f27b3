import Glibc
import TokenKeepCore

/// The keys of an unlocked vault: in the kernel's keyring, for every process of the user until they are purged; where
/// that cannot be had, in this object's guarded memory.
final class ResidentKeys: Sendable {
    /// Until an agent renews it, the key of ``AccessLevel/whenUnlocked`` ends so many seconds after an unlock.
    static let whenUnlockedSeconds: UInt32 = 180

    private struct Held {
        let key: SecretBytes
        let deadline: Int64?  // seconds since boot
    }

    private struct Memory {
        var keys: [String: Held] = [:]
        /// Why the last keys could not be kept in the kernel.
        var reason: String?
        /// What a trial found last.
        var probed: String?
    }

    private let memory = Guarded(Memory())
    private let arena: SecretArena
    private let givenObstacle: String?
    private let secondsSinceBoot: @Sendable () -> Int64

    /// - Parameters:
    ///   - obstacle: why the kernel's keyring must not be used, where it could be: for tests.
    ///   - clock: the time of keys in memory, in seconds: for tests.
    init(arena: SecretArena, obstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil) {
        self.arena = arena
        givenObstacle = obstacle
        secondsSinceBoot = clock ?? ResidentKeys.timeSinceBoot
    }

    /// Why keys are not kept in the kernel's keyring; nil where that is tried. Looked at when a key is to be kept: a vault
    /// that is not locked pays nothing for it.
    private var obstacle: String? { givenObstacle ?? KernelKeyring.obstacle }

    /// Whether keys are looked for in the kernel's keyring, where another program may have put them.
    private var usesKernel: Bool { givenObstacle == nil && !KernelKeyring.isForbidden }

    /// Why a key could not be kept in the kernel now; nil where it could. Tried out with a key that holds nothing.
    func probe() -> String? {
        let reason = obstacle ?? KernelKeyring.probe()
        memory.withLock { $0.probed = reason }
        return reasonForMemory ?? reason
    }

    /// The same, as far as it was seen before: a save does not try it out.
    var knownObstacle: String? { memory.withLock { $0.reason ?? $0.probed } ?? obstacle }

    /// Why keys are in this process's memory alone; nil where none is.
    var reasonForMemory: String? { memory.withLock { $0.reason } }

    /// Keeps keys until they are purged, or their level ends them: all in the kernel, or all in memory.
    func keep(_ entries: [KeyHierarchy.Entry], of vaultID: [UInt8]) {
        let entries = entries.filter { $0.purpose != .presence }
        let places = entries.map { ResidentKeys.place(of: $0.id, for: $0.purpose, vaultID) }
        let reason = obstacle ?? publish(entries, at: places)
        memory.withLock { memory in
            for (entry, place) in zip(entries, places) {
                guard reason != nil else {
                    memory.keys[place] = nil
                    continue
                }
                let seconds = ResidentKeys.seconds(of: entry)
                memory.keys[place] = Held(
                    key: entry.key, deadline: seconds.map { secondsSinceBoot() + Int64($0) })
            }
            if reason == nil { memory.probed = nil }
            if reason != nil || memory.keys.isEmpty { memory.reason = reason }
        }
    }

    private static func seconds(of entry: KeyHierarchy.Entry) -> UInt32? {
        entry.purpose == .level(.whenUnlocked) ? whenUnlockedSeconds : nil
    }

    /// - Returns: why one could not be published; then those of them go again that were not there before.
    private func publish(_ entries: [KeyHierarchy.Entry], at places: [String]) -> String? {
        var published: [String] = []
        for (entry, place) in zip(entries, places) {
            let wasThere = ((try? KernelKeyring.read(place, in: arena)) ?? nil) != nil
            if let reason = KernelKeyring.publish(entry.key, as: place, endsAfter: ResidentKeys.seconds(of: entry)) {
                for place in published { _ = KernelKeyring.purge(place) }
                return reason
            }
            if !wasThere { published.append(place) }
        }
        return nil
    }

    /// A key by its place; nil where it is not there any more. Asked anew at each use: another process may have purged it.
    func key(at place: String) throws(TokenKeepError) -> SecretBytes? {
        if usesKernel, let key = try KernelKeyring.read(place, in: arena) { return key }
        return memory.withLock { memory in
            guard let held = memory.keys[place] else { return nil }
            if let deadline = held.deadline, secondsSinceBoot() >= deadline {
                memory.keys[place] = nil
                return nil
            }
            return held.key
        }
    }

    /// Ends the keys of a vault, of one purpose or of all.
    ///
    /// - Returns: why those that other programs keep in the kernel may be there still; nil where none is.
    /// - Throws: ``Status/io`` where one is left that could be seen.
    func purge(_ purpose: KeyPurpose?, of vaultID: [UInt8]) throws(TokenKeepError) -> String? {
        let prefix = ResidentKeys.prefix(vaultID) + (purpose.map { "\($0.number):" } ?? "")
        memory.withLock { memory in
            memory.keys = memory.keys.filter { !$0.key.hasPrefix(prefix) }
            if memory.keys.isEmpty { memory.reason = nil }
        }
        guard usesKernel else { return givenObstacle ?? KernelKeyring.obstacle }
        switch KernelKeyring.purge(prefix) {
        case .done: return KernelKeyring.obstacle  // a user namespace has a keyring of its own
        case .unreachable(let reason): return reason
        case .failed(let reason):
            throw TokenKeepError(.io, "a key may be left in the kernel's keyring: \(reason)", module: "vault")
        }
    }

    /// Ends one key that seals nothing any more; one that stays does no harm but to old copies of the vault.
    func drop(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) {
        let place = ResidentKeys.place(of: id, for: purpose, vaultID)
        memory.withLock { $0.keys[place] = nil }
        if usesKernel { _ = KernelKeyring.purge(place) }
    }

    /// Where a key is kept: `tokenkeep:VAULTID:CLASS:KEYID`.
    static func place(of id: UInt64, for purpose: KeyPurpose, _ vaultID: [UInt8]) -> String {
        let bytes = withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return prefix(vaultID) + "\(purpose.number):" + RecordNames.fileName(bytes)
    }

    private static func prefix(_ vaultID: [UInt8]) -> String { "tokenkeep:\(RecordNames.fileName(vaultID)):" }

    /// Goes on while the machine sleeps.
    @Sendable private static func timeSinceBoot() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec)
    }
}

import Glibc
package import TokenKeepCore

/// Keeps the keys of an unlocked vault, in the kernel's keyring or in this object's guarded memory.
///
/// Keys in the kernel serve every process of the user until they are purged. Memory is used only if the kernel refuses
/// to keep keys.
package final class ClassKeyStore: Sendable {
    /// The lifetime of the key of ``AccessLevel/whenUnlocked`` after an unlock, in seconds. Nothing extends the
    /// lifetime.
    package static let whenUnlockedSeconds: UInt32 = 180

    private struct Held {
        let key: SecretBytes
        let deadline: Int64?  // seconds since boot
    }

    private struct Memory {
        var keys: [String: Held] = [:]
        /// The reason why the kernel refused the keys that were last kept.
        var reason: String?
        /// The result of the last ``ClassKeyStore/probe()``.
        var probed: String?
        /// Whether the keys that the process inherited are among ``keys``, or there are none.
        var hasInherited = false
        /// The reason why a lock leaves programs unlocked: they have inherited keys; nil if this process has none.
        var reasonOfTree: String?
    }

    /// Secrets that wait for their place to open, by the place in the kernel (``stash(_:as:)``).
    let stashes = MutexGuarded<[String: SecretBytes]>([:])
    private let memory = MutexGuarded(Memory())
    private let givenObstacle: String?
    /// Whether the memory simulates the kernel: no key goes to the kernel, and no obstacle is reported.
    let isSimulated: Bool
    private let secondsSinceBoot: @Sendable () -> Int64

    /// - Parameters:
    ///   - obstacle: the reason not to use the kernel's keyring; nil to try the keyring.
    ///   - clock: the time of keys in memory, in seconds; nil for the time since the machine's start.
    package init(obstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil) {
        givenObstacle = obstacle
        isSimulated = false
        secondsSinceBoot = clock ?? ClassKeyStore.timeSinceBoot
    }

    /// Simulates the kernel's keyring in tests: all users of this object see the same keys.
    package init(simulatingKernelAt clock: @escaping @Sendable () -> Int64) {
        givenObstacle = nil
        isSimulated = true
        secondsSinceBoot = clock
    }

    /// The reason why keys cannot be kept in the kernel's keyring; nil if the keyring can be tried. Read only before a
    /// key is kept.
    private var obstacle: String? { isSimulated ? nil : givenObstacle ?? KernelKeyring.obstacle }

    /// Whether keys are searched in the kernel's keyring, where another program may have put them.
    var usesKernel: Bool { !isSimulated && givenObstacle == nil && !KernelKeyring.isForbidden }

    /// Tries to keep an empty key in the kernel. Returns the reason of a failure; nil if the kernel kept the key.
    package func probe() -> String? {
        let reason = obstacle ?? (isSimulated ? nil : KernelKeyring.probe())
        memory.withLock { $0.probed = reason }
        return reasonForMemory ?? reason
    }

    /// The obstacle as last observed. A save does not probe it.
    package var knownObstacle: String? { memory.withLock { $0.reason ?? $0.probed } ?? obstacle }

    /// The reason why keys are in this process's memory alone; nil if no key is.
    package var reasonForMemory: String? { memory.withLock { $0.reason } }

    /// Keeps keys and the trusted headers until they are purged or expire: all in the kernel, or all in memory.
    ///
    /// Presence keys and the header key are not kept as keys of their own.
    ///
    /// - Parameter trust: nil to leave the trusted headers unchanged.
    package func keep(_ keys: [OpenKey], _ trust: HeaderTrust?, of vaultID: [UInt8]) throws(TokenKeepError) {
        var payloads = keys.filter { $0.purpose != .presence && $0.purpose != .header }.map {
            Payload(
                place: ClassKeyStore.place(of: $0.id, for: $0.purpose, vaultID), bytes: $0.bytes,
                seconds: $0.purpose == .level(.whenUnlocked) ? ClassKeyStore.whenUnlockedSeconds : nil)
        }
        if let trust {
            payloads.append(
                Payload(place: ClassKeyStore.trustPlace(vaultID), bytes: try trust.serialized(), seconds: nil))
        }
        let reason = obstacle ?? (isSimulated ? nil : publish(payloads))
        memory.withLock { memory in
            inherit(&memory)  // or a later use would bring back a key that the kernel has now
            for payload in payloads {
                memory.keys[payload.place] =
                    reason == nil && !isSimulated
                    ? nil
                    : Held(key: payload.bytes, deadline: payload.seconds.map { secondsSinceBoot() + Int64($0) })
            }
            if reason == nil { memory.probed = nil }
            if reason == nil ? memory.keys.isEmpty : !keys.isEmpty { memory.reason = reason }
        }
    }

    private struct Payload {
        let place: String
        let bytes: SecretBytes
        let seconds: UInt32?
    }

    /// Publishes keys in the kernel. If one key is refused, the keys published by this call are purged again.
    ///
    /// - Returns: the reason of the refusal; nil if all keys are published.
    private func publish(_ payloads: [Payload]) -> String? {
        var published: [String] = []
        for payload in payloads {
            let wasThere = ((try? KernelKeyring.read(payload.place, atMost: HeaderTrust.maximumLength)) ?? nil) != nil
            if let reason = KernelKeyring.publish(payload.bytes, as: payload.place, endsAfter: payload.seconds) {
                for place in published { _ = KernelKeyring.purge(place) }
                return reason
            }
            if !wasThere { published.append(payload.place) }
        }
        return nil
    }

    /// A key that an unlock kept; nil if the key is gone. Read anew at each use: another process may have purged the
    /// key.
    func key(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) throws(TokenKeepError) -> SecretBytes? {
        let key = try bytes(at: ClassKeyStore.place(of: id, for: purpose, vaultID), atMost: KeyRing.keyLength)
        return key?.count == KeyRing.keyLength ? key : nil
    }

    /// Whether a key is kept at a place.
    func holds(_ place: String) -> Bool {
        if usesKernel, let length = KernelKeyring.length(of: place) { return length == KeyRing.keyLength }
        return ((try? bytes(at: place, atMost: KeyRing.keyLength)) ?? nil) != nil
    }

    private func bytes(at place: String, atMost count: Int) throws(TokenKeepError) -> SecretBytes? {
        if usesKernel, let key = try KernelKeyring.read(place, atMost: count) { return key }
        return memory.withLock { memory in
            inherit(&memory)
            guard let held = memory.keys[place] else { return nil }
            if let deadline = held.deadline, secondsSinceBoot() >= deadline {
                memory.keys[place] = nil
                return nil
            }
            return held.key
        }
    }

    // MARK: One process tree

    /// Takes the keys over that this process inherited, once. A key that an unlock kept since counts more.
    private func inherit(_ memory: inout Memory) {
        guard !memory.hasInherited, !isSimulated, givenObstacle == nil else { return }
        memory.hasInherited = true
        let entries = InheritedKeys.read()?.entries ?? []
        if !entries.isEmpty { memory.reasonOfTree = "programs that tokenkeep run started have inherited its keys" }
        for entry in entries where memory.keys[entry.place] == nil {
            memory.keys[entry.place] = Held(key: entry.key, deadline: entry.deadline)
        }
    }

    /// Writes the keys of a vault that are in memory into a sealed memory file, for the programs that this process
    /// executes.
    ///
    /// - Returns: the file's descriptor, which is inherited.
    /// - Throws: ``Status/unsupported`` if the kernel refuses such a file.
    package func handOver(_ vaultID: [UInt8]) throws(TokenKeepError) -> Int32 {
        let prefix = ClassKeyStore.prefix(vaultID)
        let entries = memory.withLock { memory in
            memory.keys.filter { $0.key.hasPrefix(prefix) }.map {
                InheritedKeys.Entry(place: $0.key, key: $0.value.key, deadline: $0.value.deadline)
            }
        }
        return try InheritedKeys(entries).makeDescriptor()
    }

    // MARK: Trust

    /// The headers that an unlock verified; nil if no unlock has happened since the machine's start.
    func trust(of vaultID: [UInt8]) throws(TokenKeepError) -> HeaderTrust? {
        guard
            let payload = try bytes(at: ClassKeyStore.trustPlace(vaultID), atMost: HeaderTrust.maximumLength)
        else { return nil }
        return try? payload.withUnsafeBytes { bytes throws(FormatFault) in try HeaderTrust.parse(bytes) }
    }

    /// Replaces the trusted headers.
    func setTrust(_ trust: HeaderTrust, of vaultID: [UInt8]) throws(TokenKeepError) {
        try keep([], trust, of: vaultID)
    }

    // MARK: Purging

    /// Purges the keys of a vault: those of one purpose, or all.
    ///
    /// The trusted headers stay, so that a header replaced while the vault is locked is refused too.
    ///
    /// - Returns: the reason why other programs' keys may still be in the kernel; nil if no key is left.
    /// - Throws: ``Status/io`` if a visible key is left.
    package func purge(_ purpose: KeyPurpose?, of vaultID: [UInt8]) throws(TokenKeepError) -> String? {
        let trust = purpose == nil ? try self.trust(of: vaultID) : nil
        let reason = try purge(prefix: ClassKeyStore.prefix(vaultID) + (purpose.map { "\($0.number):" } ?? ""))
        if let trust { try setTrust(trust, of: vaultID) }
        return reason
    }

    /// Purges every key of a vault, and its trusted headers.
    package func forget(_ vaultID: [UInt8]) { _ = try? purge(prefix: ClassKeyStore.prefix(vaultID)) }

    private func purge(prefix: String) throws(TokenKeepError) -> String? {
        memory.withLock { memory in
            inherit(&memory)  // or a later use would bring the keys back
            memory.keys = memory.keys.filter { !$0.key.hasPrefix(prefix) }
            if memory.keys.isEmpty { memory.reason = nil }
        }
        guard usesKernel else { return obstacle }
        switch KernelKeyring.purge(prefix) {
        // A user namespace has a keyring of its own.
        case .done: return KernelKeyring.obstacle ?? memory.withLock { $0.reasonOfTree }
        case .unreachable(let reason): return reason
        case .failed(let reason):
            throw TokenKeepError(.io, "a key may be left in the kernel's keyring: \(reason)", module: "vault")
        }
    }

    /// Purges one key that is no longer needed. If this fails, the key that is left opens only old copies of the vault.
    func drop(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) {
        let place = ClassKeyStore.place(of: id, for: purpose, vaultID)
        memory.withLock { memory in
            inherit(&memory)
            memory.keys[place] = nil
        }
        if usesKernel { _ = KernelKeyring.purge(place) }
    }

    /// Purges the kernel's keys of vaults that are no longer at the path where they were unlocked. Those that were
    /// unlocked in another mount namespace, as of a container, are left alone.
    package func dropKeysOfLostVaults() {
        guard usesKernel else { return }
        for place in KernelKeyring.descriptions(beginningWith: "tokenkeep:") where place.hasSuffix(":trust") {
            guard let vaultID = ClassKeyStore.vaultID(ofTrust: place), let trust = (try? trust(of: vaultID)) ?? nil,
                trust.isLost(vaultID)
            else { continue }
            forget(vaultID)
        }
    }

    /// The description of a key: `tokenkeep:VAULTID:PURPOSE:KEYID`.
    package static func place(of id: UInt64, for purpose: KeyPurpose, _ vaultID: [UInt8]) -> String {
        let bytes = withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return prefix(vaultID) + "\(purpose.number):" + Hexadecimal.text(bytes)
    }

    private static func trustPlace(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "trust" }

    private static func vaultID(ofTrust place: String) -> [UInt8]? {
        let parts = place.split(separator: ":")
        return parts.count == 3 ? Hexadecimal.bytes(String(parts[1]), count: 16) : nil
    }

    private static func prefix(_ vaultID: [UInt8]) -> String { "tokenkeep:\(Hexadecimal.text(vaultID)):" }

    /// Seconds since the machine's start. The clock runs on while the machine sleeps.
    @Sendable private static func timeSinceBoot() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec)
    }
}

import Glibc
package import TokenKeepCore

/// Keeps the keys of an unlocked vault, in the kernel's keyring or in this object's guarded memory.
///
/// Keys in the kernel are available to every process of the user until they are purged. Keys are kept in this object
/// only if the kernel refuses them.
package final class ClassKeyStore: Sendable {
    /// The lifetime of the key of ``AccessLevel/whenUnlocked`` without an agent, in seconds after the unlock.
    ///
    /// A use of the key does not extend the lifetime.
    package static let whenUnlockedSeconds: UInt32 = 180

    private struct Held {
        let key: SecretBytes
        let deadline: Int64?  // seconds since the machine's start
    }

    private struct Memory {
        var keys: [String: Held] = [:]
        /// The reason why the kernel refused the keys of the last attempt; nil if the kernel accepted them.
        var reason: String?
        /// The reason why the last ``ClassKeyStore/probe()`` of the kernel's keyring failed; nil if it succeeded.
        var probed: String?
        /// Whether this process has added the keys that it inherited from `tokenkeep run` to ``keys``.
        var hasInherited = false
        /// The reason why other programs may keep copies of the keys after a lock; nil if this process inherited no keys.
        var reasonOfTree: String?
    }

    /// Secrets that the vault cannot store at the moment, by their descriptions in the kernel. See ``stash(_:as:)``.
    let stashes = MutexGuarded<[String: SecretBytes]>([:])
    /// Holds the keys that are removed when the screen is locked, if an agent runs.
    package let agent: ScreenKeyAgent
    private let memory = MutexGuarded(Memory())
    private let givenObstacle: String?
    /// Whether this object simulates the kernel's keyring in a test. No key then reaches the kernel.
    let isSimulated: Bool
    /// The devices of this machine, for example a TPM. A key of a device slot needs the device and the password.
    package let devices: Devices
    private let secondsSinceBoot: @Sendable () -> Int64

    /// - Parameters:
    ///   - obstacle: the reason not to use the kernel's keyring; nil to use it if possible.
    ///   - clock: returns the time, in seconds, by which keys in memory expire; nil for the time since the machine's start.
    package init(obstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil, devices: Devices = Devices()) {
        givenObstacle = obstacle
        self.devices = devices
        isSimulated = false
        agent = ScreenKeyAgent(isReachable: true)
        secondsSinceBoot = clock ?? ClassKeyStore.timeSinceBoot
    }

    /// Makes a store that simulates the kernel's keyring in tests: all users of this object see the same keys.
    package init(simulatingKernelAt clock: @escaping @Sendable () -> Int64, devices: Devices = Devices()) {
        givenObstacle = nil
        self.devices = devices
        isSimulated = true
        agent = ScreenKeyAgent(isReachable: false)
        secondsSinceBoot = clock
    }

    /// The known reason why the kernel's keyring cannot keep keys; nil if no reason is known.
    private var obstacle: String? { isSimulated ? nil : givenObstacle ?? KernelKeyring.obstacle }

    /// Whether keys are also read from the kernel's keyring, where other processes may have put them.
    var usesKernel: Bool { !isSimulated && givenObstacle == nil && !KernelKeyring.isForbidden }

    /// Tries to put an empty key into the kernel's keyring.
    ///
    /// - Returns: the reason why keys are (or would be) in this process's memory; nil if the kernel keeps keys.
    package func probe() -> String? {
        let reason = obstacle ?? (isSimulated ? nil : KernelKeyring.probe())
        memory.withLock { $0.probed = reason }
        return reasonForMemory ?? reason
    }

    /// The reason why the kernel's keyring cannot keep keys, as last observed. Does not try the keyring.
    package var knownObstacle: String? { memory.withLock { $0.reason ?? $0.probed } ?? obstacle }

    /// The reason why keys of the vault are in this process's memory instead of the kernel; nil if none are there.
    package var reasonForMemory: String? { memory.withLock { $0.reason } }

    /// The functions that remove kept keys.
    package var removal: ClassKeyRemoval { ClassKeyRemoval(keys: self) }

    /// Keeps a vault's open keys and its verified headers, until they are purged or expire.
    ///
    /// A verified header is a file of encrypted keys that an unlock has checked. Either the kernel keeps all keys and
    /// headers, or this process's memory does. Keys for items that need the password at each use are not kept. The key
    /// that verifies the header is kept only as part of `trust`.
    ///
    /// - Parameters:
    ///   - trust: the verified headers; nil to leave the headers of an earlier call unchanged. A kept header of a later
    ///     era, or of a later epoch of the same era, stays. The caller holds the lock of the verified headers.
    ///   - limit: the lifetime of the keys in seconds; nil for no limit. A later call without a limit ends an earlier
    ///     limit.
    package func keep(
        _ keys: [OpenKey], _ trust: HeaderTrust?, of vaultID: [UInt8], expiringAfter limit: UInt32? = nil
    ) throws(TokenKeepError) {
        var payloads = keys.filter { $0.purpose != .presence && $0.purpose != .header }.map {
            let endsWithScreen = $0.purpose.endsWithScreen
            let usual = endsWithScreen ? ClassKeyStore.whenUnlockedSeconds : nil
            return Payload(
                place: ClassKeyPlace.of($0.id, for: $0.purpose, vaultID), bytes: $0.bytes,
                seconds: limit.map { min($0, usual ?? $0) } ?? usual,
                // The agent extends the lifetime of the keys that it holds, so it must not get a key that has to
                // expire.
                ofScreen: endsWithScreen && limit == nil ? $0 : nil)
        }
        // Publish the mark before the keys that expire, so that another process never sees these keys without the mark.
        if !keys.isEmpty, let limit { payloads.insert(try mark(limit, of: vaultID), at: 0) }
        if let trust {
            payloads.append(
                Payload(
                    place: ClassKeyPlace.trust(vaultID),
                    bytes: try trust.replacing(self.trust(of: vaultID)).serialized(), seconds: nil, ofScreen: nil))
        }
        let reason = obstacle ?? (isSimulated ? nil : publish(payloads, of: vaultID))
        memory.withLock { memory in
            // First add the keys that this process inherited. If they were added later, keys that are removed below
            // would reappear.
            inherit(&memory)
            for payload in payloads {
                memory.keys[payload.place] =
                    reason == nil && !isSimulated
                    ? nil
                    : Held(key: payload.bytes, deadline: payload.seconds.map { secondsSinceBoot() + Int64($0) })
            }
            if reason == nil { memory.probed = nil }
            if reason == nil ? memory.keys.isEmpty : !keys.isEmpty { memory.reason = reason }
        }
        if !keys.isEmpty { dropLockMark(of: vaultID) }
        if !keys.isEmpty, limit == nil { dropMark(of: vaultID) }
    }

    /// Whether the kept keys expire unless a later ``keep(_:_:of:expiringAfter:)`` keeps them without a limit.
    package func areTemporary(_ vaultID: [UInt8]) -> Bool {
        ((try? bytes(at: ClassKeyPlace.login(vaultID), atMost: 1)) ?? nil) != nil
    }

    /// Makes the mark of keys that expire after `limit` seconds.
    ///
    /// The mark expires two seconds after the keys, because the kernel counts whole seconds.
    private func mark(_ limit: UInt32, of vaultID: [UInt8]) throws(TokenKeepError) -> Payload {
        Payload(
            place: ClassKeyPlace.login(vaultID), bytes: try SecretBytes(count: 1) { _ in },
            seconds: min(limit, .max - 2) + 2, ofScreen: nil)
    }

    private func dropMark(of vaultID: [UInt8]) {
        let place = ClassKeyPlace.login(vaultID)
        dropStash(at: place)
        memory.withLock { $0.keys[place] = nil }
    }

    private struct Payload {
        let place: String
        let bytes: SecretBytes
        let seconds: UInt32?
        /// The key that the agent must hold, because it is removed when the screen is locked; nil for any other key.
        let ofScreen: OpenKey?
    }

    /// Puts keys into the kernel's keyring. Keys that are removed at a screen lock go to the agent instead, if one runs.
    ///
    /// If the kernel refuses a key, this function purges the keys that it has just added to the keyring.
    ///
    /// - Returns: the reason why the kernel refused a key; nil if the kernel has all keys.
    private func publish(_ payloads: [Payload], of vaultID: [UInt8]) -> String? {
        var published: [String] = []
        for payload in payloads {
            if let key = payload.ofScreen, agent.hold(key, of: vaultID) {
                published.append(payload.place)
                continue
            }
            let wasThere = ((try? KernelKeyring.read(payload.place, atMost: HeaderTrust.maximumLength)) ?? nil) != nil
            if let reason = KernelKeyring.publish(payload.bytes, as: payload.place, endsAfter: payload.seconds) {
                for place in published { KernelKeyring.remove(place) }
                return reason
            }
            if !wasThere { published.append(payload.place) }
        }
        return nil
    }

    /// Reads a key that an unlock kept. Returns nil if the key was purged or has expired.
    ///
    /// No copy is cached, because another process may purge the key at any time.
    func key(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) throws(TokenKeepError) -> SecretBytes? {
        let key = try bytes(at: ClassKeyPlace.of(id, for: purpose, vaultID), atMost: KeyRing.keyLength)
        return key?.count == KeyRing.keyLength ? key : nil
    }

    /// Whether a key is kept under the description `place`.
    func holds(_ place: String) -> Bool {
        if usesKernel, let length = KernelKeyring.length(of: place) { return length == KeyRing.keyLength }
        return ((try? bytes(at: place, atMost: KeyRing.keyLength)) ?? nil) != nil
    }

    private func bytes(at place: String, atMost count: Int) throws(TokenKeepError) -> SecretBytes? {
        try bytesInKernel(at: place, atMost: count) ?? bytesInMemory(at: place)
    }

    private func bytesInKernel(at place: String, atMost count: Int) throws(TokenKeepError) -> SecretBytes? {
        usesKernel ? try KernelKeyring.read(place, atMost: count) : nil
    }

    private func bytesInMemory(at place: String) -> SecretBytes? {
        memory.withLock { memory in
            inherit(&memory)
            guard let held = memory.keys[place] else { return nil }
            if let deadline = held.deadline, secondsSinceBoot() >= deadline {
                memory.keys[place] = nil
                return nil
            }
            return held.key
        }
    }

    // MARK: Keys that programs inherit

    /// Adds the keys that this process inherited from `tokenkeep run`, at the first call only.
    ///
    /// An inherited key never replaces a key that the process already has.
    private func inherit(_ memory: inout Memory) {
        guard !memory.hasInherited, !isSimulated, givenObstacle == nil else { return }
        memory.hasInherited = true
        let entries = InheritedKeys.read()?.entries ?? []
        if !entries.isEmpty { memory.reasonOfTree = "programs that tokenkeep run started have inherited its keys" }
        for entry in entries where memory.keys[entry.place] == nil {
            memory.keys[entry.place] = Held(key: entry.key, deadline: entry.deadline)
        }
    }

    /// Writes the keys of a vault into a sealed memory file, for the programs that this process executes.
    ///
    /// Only keys in this object's memory are written.
    ///
    /// - Returns: the descriptor of the file, which executed programs inherit.
    /// - Throws: ``Status/unsupported`` if the kernel refuses a sealed memory file.
    package func handOver(_ vaultID: [UInt8]) throws(TokenKeepError) -> Int32 {
        let prefix = ClassKeyPlace.prefix(vaultID)
        let entries = memory.withLock { memory in
            memory.keys.filter { $0.key.hasPrefix(prefix) }.map {
                InheritedKeys.Entry(place: $0.key, key: $0.value.key, deadline: $0.value.deadline)
            }
        }
        return try InheritedKeys(entries).makeDescriptor()
    }

    // MARK: Headers that an unlock verified

    /// The vault's headers (files of encrypted keys) that an unlock verified; nil if there was no unlock since the
    /// machine's start.
    func trust(of vaultID: [UInt8]) throws(TokenKeepError) -> HeaderTrust? {
        let place = ClassKeyPlace.trust(vaultID)
        let inKernel = try bytesInKernel(at: place, atMost: HeaderTrust.maximumLength)
        guard let payload = inKernel ?? bytesInMemory(at: place) else { return nil }
        var trust = try? payload.withUnsafeBytes { bytes throws(FormatFault) in try HeaderTrust.parse(bytes) }
        trust?.isShared = inKernel != nil || isSimulated
        return trust
    }

    /// Replaces the verified headers of the vault, in memory or in the kernel's keyring.
    func setTrust(_ trust: HeaderTrust, of vaultID: [UInt8]) throws(TokenKeepError) {
        try keep([], trust, of: vaultID)
    }

    // MARK: Removing keys

    /// Purges the keys whose descriptions begin with `prefix`, but not the key with the description `kept`.
    ///
    /// - Parameter tellAgent: notifies the agent; called after the attempt to purge the keys.
    func purge(prefix: String, keeping kept: String? = nil, tellAgent: () -> Void) throws(TokenKeepError) -> String? {
        memory.withLock { memory in
            inherit(&memory)  // Read the inherited keys first, so that a later use does not bring them back.
            memory.keys = memory.keys.filter { !$0.key.hasPrefix(prefix) || $0.key == kept }
            if memory.keys.allSatisfy({ $0.key == kept }) { memory.reason = nil }
        }
        guard usesKernel else { return obstacle }
        defer { tellAgent() }
        switch KernelKeyring.purge(prefix, keeping: kept) {
        // In a user namespace, this program's keyring was purged, but other programs of the user have another keyring,
        // which may still contain keys.
        case .done: return KernelKeyring.obstacle ?? memory.withLock { $0.reasonOfTree }
        case .unreachable(let reason): return reason
        case .failed(let reason):
            throw TokenKeepError(.io, "a key may be left in the kernel's keyring: \(reason)", module: "vault")
        }
    }

    /// Purges a key that is no longer needed.
    ///
    /// A failure is ignored: a key that stays in the kernel opens only old copies of the vault.
    func drop(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) {
        let place = ClassKeyPlace.of(id, for: purpose, vaultID)
        memory.withLock { memory in
            inherit(&memory)
            memory.keys[place] = nil
        }
        if usesKernel { KernelKeyring.remove(place) }
    }

    /// The seconds since the machine's start, including the time in which the machine slept.
    @Sendable static func timeSinceBoot() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec)
    }
}

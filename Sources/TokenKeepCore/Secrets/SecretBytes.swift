import CSodium

/// A secret in guarded memory, which is wiped when the last reference is released.
///
/// The memory is excluded from core dumps, and locked if the kernel allows it. A secret never changes, so any thread
/// may read it. The description of a secret is always `<redacted>`. The time of a comparison depends only on the
/// lengths. Copies that a program makes, for example a String, are not wiped.
public final class SecretBytes: @unchecked Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The number of the secret's bytes.
    public let count: Int
    private let cell: GuardedCell

    /// Makes a secret of `count` bytes, followed by a zero byte that is not counted.
    ///
    /// - Parameters:
    ///   - initialize: writes the secret into `count` zeroed bytes. If `initialize` throws, the memory is wiped and the
    ///     error is thrown.
    /// - Throws: ``Status/io`` if guarded memory is exhausted, and the errors of `initialize`.
    public init(
        count: Int,
        initialize: (UnsafeMutableRawBufferPointer) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        self.cell = try GuardedPool.shared.allocate(count)
        self.count = count
        // All stored properties are set before `initialize` runs. If `initialize` throws, Swift therefore calls deinit,
        // which wipes the memory.
        try initialize(cell.bytes)
    }

    /// Makes a secret whose length is known only after its bytes were written.
    ///
    /// The secret occupies `capacity` bytes of memory, even if it is shorter.
    ///
    /// - Parameters:
    ///   - capacity: the maximum length of the secret, in bytes.
    ///   - initialize: writes the secret into zeroed bytes and returns the secret's length. Bytes after this length are
    ///     not part of the secret, and the first of them is set to zero.
    /// - Throws: ``Status/io`` if guarded memory is exhausted, and the errors of `initialize`.
    package init(
        capacity: Int,
        initialize: (UnsafeMutableRawBufferPointer) throws(TokenKeepError) -> Int
    ) throws(TokenKeepError) {
        let cell = try GuardedPool.shared.allocate(capacity)
        do throws(TokenKeepError) {
            let length = min(max(0, try initialize(cell.bytes)), capacity)
            if length < capacity { cell.bytes[length] = 0 }
            count = length
        } catch {
            GuardedPool.shared.free(cell)
            throw error
        }
        self.cell = cell
    }

    /// Copies bytes into guarded memory. The caller must wipe the original bytes.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public convenience init(
        copying bytes: UnsafeRawBufferPointer
    ) throws(TokenKeepError) {
        try self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Copies a string's UTF-8 into guarded memory. The string itself is not wiped.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public convenience init(_ string: String) throws(TokenKeepError) {
        let utf8 = string.utf8
        try self.init(count: utf8.count) { $0.copyBytes(from: utf8) }
    }

    /// Copies bytes into guarded memory. The collection itself is not wiped.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public convenience init(bytes: some Collection<UInt8>) throws(TokenKeepError) {
        try self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Makes a secret of random bytes from the kernel's generator.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public convenience init(randomCount count: Int) throws(TokenKeepError) {
        try Sodium.start()
        try self.init(count: count) { bytes in
            if let start = bytes.baseAddress { randombytes_buf(start, bytes.count) }
        }
    }

    deinit { GuardedPool.shared.free(cell) }

    /// Calls `body` with the bytes. The pointer is valid only during `body`.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(start: unsafeAddress, count: count))
    }

    /// The address of the bytes, which are followed by a zero byte. Valid while this object exists.
    public var unsafeAddress: UnsafeRawPointer { UnsafeRawPointer(cell.address) }

    /// Copies the first `count` bytes into a new secret.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    package func prefix(_ count: Int) throws(TokenKeepError) -> SecretBytes {
        try withUnsafeBytes { bytes throws(TokenKeepError) in
            try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
        }
    }

    /// Copies the secret into a String, which is not wiped; nil if the secret is not UTF-8.
    public var utf8String: String? {
        withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }

    /// Compares two secrets in a time that depends only on their lengths.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count && sodium_memcmp(left.cell.address, right.cell.address, left.count) == 0
    }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// An empty mirror, so that reflection does not show the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }

    static func exhausted(_ count: Int) -> TokenKeepError {
        .shortage(
            "no guarded memory for \(count) bytes",
            hint: "release loaded items, or raise the limit vm.max_map_count")
    }
}

import CSodium

/// A secret in guarded memory, between guard pages. Wiped with the last reference.
///
/// The memory is left out of core dumps, and locked if the kernel allows it. A secret never changes, so any thread may
/// read it. Its description is always `<redacted>`. A comparison takes a time that depends only on the lengths. Copies
/// outside, such as a String, are not wiped.
public final class SecretBytes: @unchecked Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The number of bytes.
    public let count: Int
    private let slot: GuardedSlot

    /// Makes a secret of `count` bytes, written by `initialize`, with a NUL behind it.
    ///
    /// - Parameters:
    ///   - initialize: gets `count` zeroed bytes. If it throws, the memory is wiped and the error passed on.
    /// - Throws: ``Status/io`` if guarded memory is exhausted, and the errors of `initialize`.
    public init(
        count: Int,
        initialize: (UnsafeMutableRawBufferPointer) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        self.slot = try GuardedPool.shared.allocate(count)
        self.count = count
        // All stored properties are set: from here on an error runs deinit, which wipes the memory.
        try initialize(slot.bytes)
    }

    /// Copies bytes into guarded memory. The caller wipes the source.
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

    deinit { GuardedPool.shared.free(slot) }

    /// Passes the bytes to `body`. The pointer is valid only during `body`.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(start: unsafeAddress, count: count))
    }

    /// The address of the bytes, followed by a NUL. Valid while this object lives.
    public var unsafeAddress: UnsafeRawPointer { UnsafeRawPointer(slot.address) }

    /// A copy of the first `count` bytes in its own guarded memory.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    package func prefix(_ count: Int) throws(TokenKeepError) -> SecretBytes {
        try withUnsafeBytes { bytes throws(TokenKeepError) in
            try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
        }
    }

    /// The secret as a String; nil if it is not UTF-8. The String is not wiped.
    public var utf8String: String? {
        withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }

    /// Compares secrets in a time that depends only on the lengths.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count && sodium_memcmp(left.slot.address, right.slot.address, left.count) == 0
    }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }

    static func exhausted(_ count: Int) -> TokenKeepError {
        TokenKeepError(
            .io, "no guarded memory for \(count) bytes",
            hint: "release loaded items, or raise the limit vm.max_map_count")
    }
}

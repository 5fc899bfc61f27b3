package import TokenKeepCore

extension TokenStore {
    /// A secret in memory between guard pages, which is wiped when the last copy of this value is released.
    ///
    /// The memory is excluded from core dumps, and locked if the kernel allows it. A secret never changes, so any
    /// thread may read it. Its description is always `<redacted>`. The duration of a comparison depends only on the
    /// lengths of the secrets. Copies outside of this type, such as a String, are not wiped.
    public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        package let core: SecretBytes

        init(core: SecretBytes) { self.core = core }

        /// Copies a string's UTF-8 into guarded memory. The string itself is not wiped.
        ///
        /// - Throws: ``TokenKeepError/Status/io`` if guarded memory is exhausted.
        public init(_ string: String) throws(TokenKeepError) {
            core = try convertingError { () throws(CoreError) in try SecretBytes(string) }
        }

        /// Copies bytes into guarded memory. The collection itself is not wiped.
        ///
        /// - Throws: ``TokenKeepError/Status/io`` if guarded memory is exhausted.
        public init(bytes: some Collection<UInt8>) throws(TokenKeepError) {
            core = try convertingError { () throws(CoreError) in try SecretBytes(bytes: bytes) }
        }

        /// Copies bytes into guarded memory. The caller must wipe the source.
        ///
        /// - Throws: ``TokenKeepError/Status/io`` if guarded memory is exhausted.
        public init(copying bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
            core = try convertingError { () throws(CoreError) in try SecretBytes(copying: bytes) }
        }

        /// The number of bytes.
        public var count: Int { core.count }

        /// Passes the bytes to `body`. The pointer is valid only during `body`.
        ///
        /// - Throws: the error of `body`.
        public func withUnsafeBytes<Result, Failure: Error>(
            _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try core.withUnsafeBytes(body)
        }

        /// The secret as a String; nil if it is not UTF-8. The String is not wiped.
        public var utf8String: String? { core.utf8String }

        /// Always `<redacted>`.
        public var description: String { core.description }
        /// Always `<redacted>`.
        public var debugDescription: String { core.debugDescription }
        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

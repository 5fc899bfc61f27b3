internal import CLibsecret

/// Records that GLib has closed a connection.
final class ConnectionEnd {
    private(set) var hasCome = false

    /// The handler of GLib's signal `closed`. Runs in the context in which the connection was made.
    static let closed: GCallback = unsafeBitCast(hear, to: GCallback.self)

    private static let hear: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void =
        {
            _, _, _, data in
            guard let data else { return }
            Unmanaged<ConnectionEnd>.fromOpaque(data).takeUnretainedValue().hasCome = true
        }
}

internal import CLibsecret

/// Notes that GLib has closed a connection.
final class ConnectionEnd {
    private(set) var hasCome = false

    /// The signal handler. GLib calls it in the context where the connection was made, on the thread that releases it.
    static let closed: GCallback = unsafeBitCast(hear, to: GCallback.self)

    private static let hear: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void =
        {
            _, _, _, data in
            guard let data else { return }
            Unmanaged<ConnectionEnd>.fromOpaque(data).takeUnretainedValue().hasCome = true
        }
}

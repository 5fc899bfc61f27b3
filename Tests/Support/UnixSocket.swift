import Glibc

/// Sockets of the kind SOCK_SEQPACKET at a path.
public enum UnixSocket {
    /// Listens at a path; nil where that fails.
    public static func listen(at path: String) -> Int32? {
        made(path) { descriptor, address, length in
            bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 64) == 0
        }
    }

    /// Connects to a path; nil where nobody listens.
    public static func connect(to path: String) -> Int32? { made(path) { Glibc.connect($0, $1, $2) == 0 } }

    private static func made(
        _ path: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Int32? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let isDone = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard !isDone else { return descriptor }
        close(descriptor)
        return nil
    }
}

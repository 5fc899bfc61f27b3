import Glibc

/// A netlink socket (rtnetlink(7)) that becomes readable when an address or a route of the machine changes.
enum NetworkWatch {
    /// The layout of `struct sockaddr_nl`.
    private struct Address {
        var family = UInt16(AF_NETLINK)
        var padding: UInt16 = 0
        var process: UInt32 = 0
        /// The multicast groups RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR and RTMGRP_IPV6_ROUTE.
        var groups: UInt32 = 0x10 | 0x40 | 0x100 | 0x400
    }

    private static let longestMessage = 8192

    /// Opens the socket, which the caller must close. Returns -1 if the kernel refuses.
    static func open() -> Int32 {
        let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, kind, 0)
        guard descriptor >= 0 else { return -1 }
        var address = Address()
        let isBound = withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress?.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, socklen_t(bytes.count)) == 0
            }
        }
        guard isBound != true else { return descriptor }
        close(descriptor)
        return -1
    }

    /// Reads and discards the kernel's pending messages. Returns whether there was a message.
    static func drain(_ descriptor: Int32) -> Bool {
        var hasCome = false
        withUnsafeTemporaryAllocation(byteCount: longestMessage, alignment: 8) { buffer in
            while descriptor >= 0 {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count < 0, errno == EINTR { continue }
                // ENOBUFS means that the kernel has dropped messages, which counts as a message, too.
                guard count > 0 || count < 0 && errno == ENOBUFS else { return }
                hasCome = true
            }
        }
        return hasCome
    }
}

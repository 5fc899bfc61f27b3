import Glibc

/// The other end of a connection on this machine. The kernel's socket tables (`/proc/self/net/tcp`) name its user.
struct LoopbackPeer {
    /// The possible texts of one address in a table. There are two for an IPv4 address, because an IPv6 socket may use
    /// it in its mapped form.
    private typealias Endpoint = [String]

    private struct Row {
        let user: uid_t
        /// The socket's inode; 0 if its owner has closed the socket.
        let inode: UInt64
    }

    private let own: Endpoint
    private let peer: Endpoint
    /// The inode of this end of the connection.
    private let inode: UInt64

    /// Reads the addresses of a connection that was just accepted; nil if the other end is closed already.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let own = LoopbackPeer.endpoint(getsockname, descriptor),
            let peer = LoopbackPeer.endpoint(getpeername, descriptor)
        else { return nil }
        (self.own, self.peer, inode) = (own, peer, UInt64(status.st_ino))
    }

    /// Whether the other end certainly belongs to this process's user or to root. Other users, who may have seen the
    /// sign-in's address, must not be able to answer.
    ///
    /// False if a connection was closed or reset, or if the system has no socket tables. While a table lists this end
    /// of the connection, the row with the reverse addresses is the peer's, because no other socket can have the same
    /// two addresses.
    var isTrusted: Bool {
        // The tables are read up to 8 times, because the kernel writes them in pieces and may skip a row while other
        // sockets are opened and closed.
        for _ in 0..<8 {
            guard let this = LoopbackPeer.row(from: own, to: peer), this.inode == inode,
                let other = LoopbackPeer.row(from: peer, to: own), other.inode != 0
            else { continue }
            return other.user == 0 || other.user == geteuid() || other.user == getuid()
        }
        return false
    }

    /// The row of the socket with these two addresses; nil if no table lists it.
    private static func row(from local: Endpoint, to remote: Endpoint) -> Row? {
        let port = String(local.first?.suffix(5) ?? "")
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            guard let file = fopen(table, "re") else { continue }
            defer { fclose(file) }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            defer { free(line) }
            while getline(&line, &capacity, file) > 0 {
                guard let line else { break }
                guard strstr(line, port) != nil else { continue }
                let fields = String(cString: line).split(separator: " ")
                // The title line has no numbers in these fields, so it is skipped here.
                guard fields.count >= 10, let user = uid_t(fields[7]), let inode = UInt64(fields[9]) else { continue }
                guard local.contains(String(fields[1])), remote.contains(String(fields[2])) else { continue }
                return Row(user: user, inode: inode)
            }
        }
        return nil
    }
    private static func endpoint(
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32, _ descriptor: Int32
    ) -> Endpoint? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer -> Endpoint? in
            let isKnown = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(descriptor, $0, &size) == 0 }
            guard isKnown else { return nil }
            switch Int32(pointer.pointee.ss_family) {
            case AF_INET:
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four($0.pointee) }
            case AF_INET6:
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six($0.pointee) }
            default: return nil
            }
        }
    }

    private static func four(_ address: sockaddr_in) -> Endpoint {
        let text = hexadecimal(address.sin_addr.s_addr) + port(address.sin_port)
        return [text, hexadecimal(0) + hexadecimal(0) + hexadecimal(UInt32(0xFFFF).bigEndian) + text]
    }

    private static func six(_ address: sockaddr_in6) -> Endpoint {
        let words = withUnsafeBytes(of: address.sin6_addr) { Array($0.bindMemory(to: UInt32.self)) }
        return [words.map(hexadecimal).joined() + port(address.sin6_port)]
    }

    /// A 32-bit word in hexadecimal, in the machine's byte order. The tables write addresses in this form.
    private static func hexadecimal(_ word: UInt32) -> String {
        let digits = String(word, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    private static func port(_ number: in_port_t) -> String {
        let digits = String(UInt16(bigEndian: number), radix: 16, uppercase: true)
        return ":" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}

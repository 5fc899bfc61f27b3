import Glibc

/// The owner of the other end of a connection on this machine, as the kernel's tables of sockets name it.
enum LoopbackPeer {
    /// Whether the other end belongs to this process's user or to root: another user who has seen the address of the
    /// sign-in must not answer it.
    ///
    /// True as well if the system has no tables: then the state alone protects the sign-in.
    static func isTrusted(_ descriptor: Int32) -> Bool {
        guard let own = endpoint(getsockname, descriptor), let peer = endpoint(getpeername, descriptor) else {
            return true
        }
        // The kernel writes a table in pieces, and may skip a row while sockets come and go.
        for _ in 0..<8 {
            switch search(from: own, to: peer) {
            case .noTable: return true
            case .missing: continue
            case .found: break
            }
            // The row of a closed socket names no owner.
            guard case .found(let user, let inode) = search(from: peer, to: own), inode != 0 else { continue }
            return user == 0 || user == geteuid() || user == getuid()
        }
        return false
    }

    private enum Search {
        case found(user: uid_t, inode: UInt64)
        case missing
        /// No table has a row.
        case noTable
    }

    /// The forms in which a table may have an address: a socket of IPv6 may have one of IPv4.
    private typealias Endpoint = [String]

    /// Searches the tables for the socket with these ends.
    private static func search(from local: Endpoint, to remote: Endpoint) -> Search {
        var hasRows = false
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            guard let file = fopen(table, "re") else { continue }
            defer { fclose(file) }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            defer { free(line) }
            while getline(&line, &capacity, file) > 0 {
                guard let line else { break }
                let fields = String(cString: line).split(separator: " ")
                // The title of the table has no numbers.
                guard fields.count >= 10, let user = uid_t(fields[7]), let inode = UInt64(fields[9]) else { continue }
                hasRows = true
                guard local.contains(String(fields[1])), remote.contains(String(fields[2])) else { continue }
                return .found(user: user, inode: inode)
            }
        }
        return hasRows ? .missing : .noTable
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

    /// A word as the tables write it: in the machine's order of bytes.
    private static func hexadecimal(_ word: UInt32) -> String {
        let digits = String(word, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    private static func port(_ number: in_port_t) -> String {
        let digits = String(UInt16(bigEndian: number), radix: 16, uppercase: true)
        return ":" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}

import TokenKeepCore

/// The head of an HTTP request to the listener.
package struct LoopbackRequest {
    /// Why a request is none for the listener.
    package enum Refusal: Error {
        case malformed
        case method
        case host
        case path
    }

    /// The path that was asked for.
    package let path: String
    /// The query of the address.
    package let query: UnsafeRawBufferPointer

    /// Reads the head of a request for one of `paths`, whose Host must be `authority`: a page of another name that resolves
    /// to this machine is refused.
    package init(_ head: UnsafeRawBufferPointer, authority: String, paths: [String]) throws(Refusal) {
        var lines = head.split(separator: 0x0A, omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst() else { throw .malformed }
        let words = first.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, LoopbackRequest.trimmed(words[2]).elementsEqual("HTTP/1.1".utf8) else {
            throw .malformed
        }
        guard words[0].elementsEqual("GET".utf8) else { throw .method }
        let hosts = lines.compactMap { line -> Slice<UnsafeRawBufferPointer>? in
            guard let colon = line.firstIndex(of: 0x3A), LoopbackRequest.isHost(line[..<colon]) else { return nil }
            return LoopbackRequest.trimmed(line[(colon + 1)...])
        }
        guard hosts.count == 1, hosts[0].elementsEqual(authority.utf8) else { throw .host }
        let target = words[1]
        let mark = target.firstIndex(of: 0x3F) ?? target.endIndex
        guard let path = paths.first(where: { target[..<mark].elementsEqual($0.utf8) }) else { throw .path }
        self.path = path
        query = UnsafeRawBufferPointer(rebasing: target[mark...].dropFirst())
    }

    private static func isHost(_ name: Slice<UnsafeRawBufferPointer>) -> Bool {
        name.count == 4 && name.map { $0 | 0x20 }.elementsEqual("host".utf8)
    }

    private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 || last == 0x0D { text = text.dropLast() }
        return text
    }
}

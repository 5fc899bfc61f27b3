import TokenKeepCore

/// The head of an HTTP request to the listener.
package struct LoopbackRequest {
    /// The reason why the listener refuses a request.
    package enum Refusal: Error {
        case malformed
        case method
        case host
        case path
    }

    /// The path of the request.
    package let path: String
    /// The query of the request, or the body of a form.
    package let query: UnsafeRawBufferPointer

    /// Parses the head of a request for one of `paths`. The Host header must be `authority`. Otherwise a web page whose
    /// name resolves to this machine could send requests.
    ///
    /// - Parameter form: the body of the request, used if it is a POST to the first path; nil to accept no POST.
    package init(
        _ head: UnsafeRawBufferPointer, form: UnsafeRawBufferPointer? = nil, authority: String, paths: [String]
    ) throws(Refusal) {
        var lines = head.split(separator: 0x0A, omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst() else { throw .malformed }
        let words = first.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, LoopbackRequest.trimmed(words[2]).elementsEqual("HTTP/1.1".utf8) else {
            throw .malformed
        }
        let isForm = form != nil && words[0].elementsEqual("POST".utf8)
        guard isForm || words[0].elementsEqual("GET".utf8) else { throw .method }
        let hosts = LoopbackRequest.values(of: "host", in: lines)
        guard hosts.count == 1, hosts[0].elementsEqual(authority.utf8) else { throw .host }
        let target = words[1]
        let mark = target.firstIndex(of: 0x3F) ?? target.endIndex
        guard let path = paths.first(where: { target[..<mark].elementsEqual($0.utf8) }) else { throw .path }
        guard !isForm || path == paths.first else { throw .method }
        self.path = path
        query = if isForm, let form { form } else { UnsafeRawBufferPointer(rebasing: target[mark...].dropFirst()) }
    }

    /// The length of a request's body in bytes, according to the header Content-Length: 0 if the header is missing, -1
    /// if it is unreadable, nil if it occurs twice.
    static func bodyLength(_ head: UnsafeRawBufferPointer) -> Int? {
        let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false)
        let lengths = values(of: "content-length", in: lines.dropFirst())
        guard lengths.count <= 1 else { return nil }
        return lengths.first.map { Int(String(decoding: $0, as: UTF8.self)) ?? -1 } ?? 0
    }

    /// The values of all headers with that name.
    private static func values(
        of name: String, in lines: ArraySlice<Slice<UnsafeRawBufferPointer>>
    ) -> [Slice<UnsafeRawBufferPointer>] {
        lines.compactMap { line -> Slice<UnsafeRawBufferPointer>? in
            guard let colon = line.firstIndex(of: 0x3A), line[..<colon].count == name.utf8.count,
                line[..<colon].lazy.map({ $0 | 0x20 }).elementsEqual(name.utf8)
            else { return nil }
            return trimmed(line[(colon + 1)...])
        }
    }

    private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 || last == 0x0D { text = text.dropLast() }
        return text
    }
}

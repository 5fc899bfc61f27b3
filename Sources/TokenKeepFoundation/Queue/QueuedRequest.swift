import Foundation
import FoundationNetworking
import TokenKeep
import TokenKeepCore

/// A request read from the queue. Its headers and body stay in guarded memory until the request is sent.
struct QueuedRequest: Sendable {
    let stored: StoredRequest
    /// The secrets of the request's items: the head, followed by the parts of a long body.
    private let items: [SecretBytes]
    /// The byte range of the JSON object in the head.
    private let object: Range<Int>
    private let id: String

    private struct Version: Decodable { let version: Int }

    /// Reads a request from the secrets of its items.
    ///
    /// - Throws: `TokenKeepError` with `corrupt` if the request is damaged, or `unsupported` if a later version wrote
    ///   it.
    init(_ items: [SecretBytes], id: String) throws {
        guard let head = items.first, head.count >= 4 else { throw Self.damaged(id) }
        let length = head.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
        guard length <= head.count - 4 else { throw Self.damaged(id) }
        object = 4..<4 + Int(length)
        self.items = items
        self.id = id
        let json = head.data(object)
        guard let version = try? JSONDecoder().decode(Version.self, from: json).version else { throw Self.damaged(id) }
        guard version == 1 else {
            throw TokenKeep.TokenKeepError(.unsupported, "the request \(id) of the queue is a later version's")
        }
        guard let stored = try? JSONDecoder().decode(StoredRequest.self, from: json) else { throw Self.damaged(id) }
        self.stored = stored
    }

    /// Makes the URLRequest to send. Its body is guarded memory, which is wiped when the request's last copy is
    /// released.
    ///
    /// The headers are Strings that URLSession shares. They cannot be wiped, because Swift cannot overwrite a String to
    /// which others have references.
    func urlRequest() throws -> URLRequest {
        guard let head = items.first,
            let headers = try? JSONDecoder().decode(StoredHeaders.self, from: head.data(object)).headers
        else { throw Self.damaged(id) }
        var request = URLRequest(url: stored.url, timeoutInterval: stored.timeout)
        request.httpMethod = stored.method
        for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        request.setValue(stored.key, forHTTPHeaderField: StoredRequest.keyHeader)
        request.httpBody = stored.hasBody ? try body(head) : nil
        return request
    }

    private func body(_ head: SecretBytes) throws -> Data {
        let parts = items.dropFirst()
        guard !parts.isEmpty else { return head.data(object.upperBound..<head.count) }
        let whole = try convertingError { () throws(CoreError) in
            try SecretBytes(count: parts.reduce(0) { $0 + $1.count }) { bytes in
                var rest = bytes[...]
                for part in parts {
                    part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: $0) }
                    rest = rest.dropFirst(part.count)
                }
            }
        }
        return whole.data(0..<whole.count)
    }

    private static func damaged(_ id: String) -> TokenKeep.TokenKeepError {
        TokenKeep.TokenKeepError(
            .corrupt, "the request \(id) of the queue is damaged", recoverySuggestion: "cancel it")
    }
}

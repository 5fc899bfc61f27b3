import Foundation
import FoundationNetworking
import TokenKeep
import TokenKeepCore

/// The stored form of a request, without its headers and body.
///
/// The secret of the head item consists of the length of a JSON object (4 bytes, little-endian), the object with the
/// headers, and the body if it is short.
struct StoredRequest: Codable, Sendable {
    /// The version of the format, 1. A request that was stored with a later version is refused and left unchanged.
    private(set) var version = 1
    let url: URL
    let method: String
    let key: String
    let added: Int64
    let end: Int64
    let timeout: Double
    /// Whether the request has a body, which may be empty.
    let hasBody: Bool

    static let keyHeader = "Idempotency-Key"

    init(_ request: URLRequest, _ url: URL, added: Int64, end: Int64) {
        self.url = url.absoluteURL
        self.added = added
        self.end = end
        method = request.httpMethod ?? "GET"
        key = request.value(forHTTPHeaderField: Self.keyHeader) ?? UUID().uuidString
        timeout = request.timeoutInterval
        hasBody = request.httpBody != nil
    }

    /// Makes the secrets of the request's items: the head, and the parts of a long body.
    func items(_ request: URLRequest) throws -> (head: SecretBytes, parts: [SecretBytes]) {
        let body = request.httpBody ?? Data()
        let isInline = body.count <= QueueLimits.longestInline
        var json = try JSONEncoder().encode(Whole(request: self, headers: StoredHeaders(request)))
        defer { CodableSecret.wipe(&json) }
        return try convertingError { () throws(CoreError) in
            (head: try Self.head(json, isInline ? body : Data()), parts: isInline ? [] : try Self.parts(body))
        }
    }

    /// The JSON object in the head item.
    private struct Whole: Encodable {
        let request: StoredRequest
        let headers: StoredHeaders

        func encode(to encoder: any Encoder) throws {
            try request.encode(to: encoder)
            try headers.encode(to: encoder)
        }
    }

    private static func head(_ json: Data, _ body: Data) throws(CoreError) -> SecretBytes {
        try SecretBytes(count: 4 + json.count + body.count) { bytes in
            bytes.storeBytes(of: UInt32(json.count).littleEndian, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: bytes[4...]).copyBytes(from: json)
            UnsafeMutableRawBufferPointer(rebasing: bytes[(4 + json.count)...]).copyBytes(from: body)
        }
    }

    private static func parts(_ body: Data) throws(CoreError) -> [SecretBytes] {
        var parts: [SecretBytes] = []
        for start in stride(from: 0, to: body.count, by: QueueLimits.part) {
            parts.append(try SecretBytes(bytes: body.dropFirst(start).prefix(QueueLimits.part)))
        }
        return parts
    }
}

/// The headers of a request in the queue.
struct StoredHeaders: Codable, Sendable {
    struct Header: Codable, Sendable {
        let name: String
        let value: String
    }

    let headers: [Header]

    /// The names of headers that are not stored, because the client adds them when it sends the request or because they
    /// concern one connection.
    private static let unstored: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "content-length", SessionClient.deviceHeader.lowercased(),
        StoredRequest.keyHeader.lowercased(),
    ]

    init(_ request: URLRequest) {
        headers = (request.allHTTPHeaderFields ?? [:])
            .filter { !Self.unstored.contains($0.key.lowercased()) }
            .map { Header(name: $0.key, value: $0.value) }
    }
}

import Foundation
import FoundationNetworking
import TokenKeep
import TokenKeepCore

/// A request as the queue keeps it: the length of a JSON object (4 bytes, little-endian), the object, and a short body.
struct StoredRequest: Codable, Sendable {
    struct Header: Codable, Sendable {
        let name: String
        let value: String
    }

    /// 1; a later version is left alone.
    private(set) var version = 1
    let url: URL
    let method: String
    let headers: [Header]
    let key: String
    let added: Int64
    let end: Int64
    let timeout: Double
    /// Whether there is a body, which may be empty.
    let hasBody: Bool

    static let keyHeader = "Idempotency-Key"
    /// Headers that the client adds when the request is sent, or that belong to one connection.
    private static let unstored: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "content-length", SessionClient.deviceHeader.lowercased(),
        keyHeader.lowercased(),
    ]

    init(_ request: URLRequest, _ url: URL, added: Int64, end: Int64) {
        self.url = url.absoluteURL
        self.added = added
        self.end = end
        method = request.httpMethod ?? "GET"
        headers = (request.allHTTPHeaderFields ?? [:])
            .filter { !Self.unstored.contains($0.key.lowercased()) }
            .map { Header(name: $0.key, value: $0.value) }
        key = request.value(forHTTPHeaderField: Self.keyHeader) ?? UUID().uuidString
        timeout = request.timeoutInterval
        hasBody = request.httpBody != nil
    }

    /// The head item and the parts of a long body.
    func items(body: Data) throws -> (head: SecretBytes, parts: [SecretBytes]) {
        let isInline = body.count <= QueueLimits.longestInline
        let json = try JSONEncoder().encode(self)
        var head = withUnsafeBytes(of: UInt32(json.count).littleEndian) { Data($0) } + json
        defer { CodableSecret.wipe(&head) }
        if isInline { head.append(body) }
        let parts = try stride(from: 0, to: isInline ? 0 : body.count, by: QueueLimits.part).map { start in
            try Self.secret(body.dropFirst(start).prefix(QueueLimits.part))
        }
        return (try Self.secret(head), parts)
    }

    private static func secret(_ data: Data) throws -> SecretBytes {
        try data.withUnsafeBytes { try SecretBytes(copying: $0) }
    }

    /// The request and its body from the items.
    ///
    /// - Throws: `TokenKeepError`, `corrupt`, or `unsupported` for a later version's request.
    static func parse(_ items: [SecretBytes], id: String) throws -> (request: StoredRequest, body: Data) {
        let damaged = TokenKeep.TokenKeepError(
            .corrupt, "the request \(id) of the queue is damaged", recoverySuggestion: "cancel it")
        guard let head = items.first?.withUnsafeBytes({ Data($0) }), head.count >= 4 else { throw damaged }
        let length = head.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let json = head.dropFirst(4).prefix(length)
        guard json.count == length, let version = try? JSONDecoder().decode(Version.self, from: json) else {
            throw damaged
        }
        guard version.version == 1 else {
            throw TokenKeep.TokenKeepError(.unsupported, "the request \(id) of the queue is a later version's")
        }
        guard let request = try? JSONDecoder().decode(StoredRequest.self, from: json) else { throw damaged }
        let body = items.dropFirst().reduce(into: Data(head.dropFirst(4 + length))) { body, part in
            part.withUnsafeBytes { body.append(contentsOf: $0) }
        }
        return (request, body)
    }

    private struct Version: Decodable { let version: Int }

    /// The request to be sent.
    func urlRequest(body: Data) -> URLRequest {
        var request = URLRequest(url: url, timeoutInterval: timeout)
        request.httpMethod = method
        for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        request.setValue(key, forHTTPHeaderField: Self.keyHeader)
        request.httpBody = hasBody ? body : nil
        return request
    }
}

public import TokenKeepCore
package import TokenKeepEngine

/// A request that the application sends to the server for the engine.
public struct SessionRequest: Sendable {
    /// The purpose of a request. The numbers are those of `tokenkeep/session.h`.
    public enum Purpose: UInt32, Sendable {
        /// Renew the access token (RFC 6749 section 6).
        case refresh = 1
        /// Revoke a token (RFC 7009).
        case revoke = 2
        /// Ask whether the server still accepts an access token: yes with a status from 200 to 299, no with 401.
        case validate = 3
        /// Extend the session.
        case extend = 4

        /// The word for the purpose in `TOKENKEEP_PURPOSE`.
        public var word: String {
            switch self {
            case .refresh: "refresh"
            case .revoke: "revoke"
            case .validate: "validate"
            case .extend: "extend"
            }
        }
    }

    /// The purpose of the request.
    public let purpose: Purpose
    /// The session's service.
    public let service: String
    /// The session's account.
    public let account: String
    /// The URL of the token endpoint, for a refresh; nil if the options name none.
    public let url: String?
    /// The token that the request is about: the refresh token, the token to be revoked, or the access token to be
    /// validated or extended.
    public let token: SecretBytes
    /// The resource or scope of the requested access token; nil for the resource and scope of the sign-in.
    public let target: TokenTarget?
    /// The requested extension, in seconds; nil for other purposes.
    public let seconds: UInt32?
    /// Whether ``token`` is a refresh token.
    public let isRefreshToken: Bool
    /// The body, `application/x-www-form-urlencoded`; empty for a validation.
    public let body: SecretBytes
    /// The time by which the request must be answered.
    public let deadline: Deadline
    /// The name of the session's provider, from the sealed record of the token, otherwise from the options; nil if
    /// neither names a provider.
    ///
    /// Never read from the session's note, which anybody with the vault's files can forge.
    package let provider: String?
    /// The OAuth client id in ``body``; nil if the body has none.
    package let clientID: String?
    /// The store in which the session is saved.
    package let store: Store
    /// The time by which the request must be sent. Cancelling it aborts a request that is not sent yet.
    package var sendBy: Deadline
    var permit: SendingPermit?

    init(
        _ purpose: Purpose, _ name: ItemName, _ token: SecretBytes, isRefreshToken: Bool = false,
        for target: TokenTarget? = nil, seconds: UInt32? = nil, of provider: String?, _ store: Store,
        options: SessionOptions, deadline: Deadline
    ) throws(TokenKeepError) {
        self.provider = provider.flatMap { $0.isEmpty ? nil : $0 } ?? options.provider
        self.store = store
        sendBy = deadline
        clientID = [.refresh, .revoke].contains(purpose) ? options.clientID : nil
        self.purpose = purpose
        self.target = target
        self.seconds = seconds
        service = name.service
        account = name.account
        url = purpose == .refresh ? options.refreshURL : nil
        self.token = token
        self.isRefreshToken = isRefreshToken
        var parts: [(String, SecretBytes)] = []
        switch purpose {
        case .refresh:
            parts = [("grant_type", try SecretBytes("refresh_token")), ("refresh_token", token)]
            if let resource = target?.resource { parts.append(("resource", try SecretBytes(resource))) }
            if let scope = target?.scope { parts.append(("scope", try SecretBytes(scope))) }
        case .revoke:
            let hint = isRefreshToken ? "refresh_token" : "access_token"
            parts = [("token", token), ("token_type_hint", try SecretBytes(hint))]
        case .validate: break
        case .extend: parts = [("seconds", try SecretBytes("\(seconds ?? 0)"))]
        }
        if let clientID { parts.append(("client_id", try SecretBytes(clientID))) }
        body = try SessionRequest.form(parts)
        self.deadline = deadline
    }

    /// Writes durably into the session's note that the refresh token is about to be sent. If
    /// ``SessionOptions/transportNotesSending`` is true, the transport must call this before it sends the first byte.
    ///
    /// - Throws: an error if the request must not be sent.
    package func willSend() throws(TokenKeepError) { try permit?.begin() }

    /// Keeps the received bytes of a refresh's answer that was cut off. The transport calls this before it throws.
    package func keep(cutAnswer: SecretBytes) { permit?.keep(cutAnswer: cutAnswer) }

    /// Encodes names and values as a form, in guarded memory.
    ///
    /// - Parameter start: an encoded form to which the names and values are appended; nil to begin a new form.
    package static func form(
        _ parts: [(String, SecretBytes)], after start: SecretBytes? = nil
    ) throws(TokenKeepError) -> SecretBytes {
        let startLength = start?.count ?? 0
        let longest = parts.reduce(startLength) { $0 + $1.0.utf8.count + 2 + 3 * $1.1.count }
        var length = startLength
        let encoded = try SecretBytes(count: longest) { bytes in
            func append(_ byte: UInt8) {
                bytes[length] = byte
                length += 1
            }
            start?.withUnsafeBytes { bytes.copyMemory(from: $0) }
            for part in parts {
                if length > 0 { append(UInt8(ascii: "&")) }
                part.0.utf8.forEach(append)
                append(UInt8(ascii: "="))
                part.1.withUnsafeBytes { $0.forEach { escape($0, append) } }
            }
        }
        return try encoded.prefix(length)
    }

    /// Encodes text that is no secret for a form or a URL query.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        text.utf8.forEach { escape($0) { bytes.append($0) } }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escape(_ byte: UInt8, _ append: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            append(byte)
        default:
            let digits = Array("0123456789ABCDEF".utf8)
            append(UInt8(ascii: "%"))
            append(digits[Int(byte >> 4)])
            append(digits[Int(byte & 15)])
        }
    }
}

/// The server's answer to a request.
public struct SessionResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The headers. The case of the letters in their names does not matter.
    public var headers: [(name: String, value: String)]
    /// The body. A body of more than 256 KiB is treated as an unreadable answer.
    public var body: SecretBytes

    /// Creates an answer.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: SecretBytes) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first header with that name, whose case is ignored; nil if there is no such header.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// Sends a request and returns the answer.
///
/// - Throws: ``Status/unavailable`` if the request was certainly not sent. Another error means that the server may have
///   received the request.
public typealias SessionTransport = @Sendable (SessionRequest) throws(TokenKeepError) -> SessionResponse

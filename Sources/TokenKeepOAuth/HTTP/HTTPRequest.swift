package import TokenKeepCore

/// An HTTP request to a server.
package struct HTTPRequest {
    package let address: WebAddress
    /// The form to be sent by POST, in guarded memory; nil for a GET. libcurl's copy of the form is wiped, too.
    package var body: SecretBytes?
    /// The header lines, `Name: value`, at most seven. Content-Type is added if there is a body.
    package var headers: [SecretBytes] = []
    /// The PEM file of the certificate authorities that are trusted for this request; nil for `SSL_CERT_FILE` or the
    /// system's authorities.
    package var caFile: String?
    /// The time by which the request must be sent. Cancelling it aborts the request.
    package var deadline: Deadline
    /// Whether to wait for the answer for up to 30 seconds after the request was sent, even if the deadline passes or
    /// is cancelled meanwhile.
    package var keepsAnswer = false
    /// The time limits. Tests replace them.
    package var limits = HTTPLimits()
    /// Called on the sending thread once the connection is established, before the first byte is sent. If it throws,
    /// nothing is sent.
    package var whenSending: (() throws(TokenKeepError) -> Void)?

    package init(_ address: WebAddress, body: SecretBytes? = nil, deadline: Deadline) {
        self.address = address
        self.body = body
        self.deadline = deadline
    }

    /// Makes a header line with a secret value.
    package static func header(_ name: String, _ value: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretText.joined("\(name): ", value)
    }
}

/// The time limits of a request, in milliseconds.
package struct HTTPLimits {
    /// The maximum time until the connection, with TLS, is established.
    package var connect: UInt32 = 10_000
    /// The maximum time from the established connection to the end of the answer.
    package var answer: UInt32 = 30_000
    /// The maximum time of the whole request.
    package var whole: UInt32 = 35_000

    package init() {}
}

/// A server's answer.
package struct HTTPResponse: Sendable {
    package let status: Int
    /// The body, at most 256 KiB.
    package let body: SecretBytes
    /// The values of the headers Content-Type, Date and Retry-After; "" for a missing header.
    package let contentType: String
    package let date: String
    package let retryAfter: String

    package init(
        status: Int, body: SecretBytes, contentType: String = "", date: String = "", retryAfter: String = ""
    ) {
        self.status = status
        self.body = body
        self.contentType = contentType
        self.date = date
        self.retryAfter = retryAfter
    }
}

/// The failure of a request.
package struct HTTPFailure: Error {
    package let error: TokenKeepError
    /// Whether the server may have received the request. If false, it certainly has not.
    package let wasSent: Bool
    /// The received bytes of an answer with a status from 200 to 299 that was cut off; nil if there is no such answer.
    package var cutAnswer: SecretBytes?
}

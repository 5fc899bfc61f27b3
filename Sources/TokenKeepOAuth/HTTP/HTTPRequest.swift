package import TokenKeepCore

/// A request to a server.
package struct HTTPRequest {
    package let address: WebAddress
    /// The form that a POST sends; nil for a GET. Stays in guarded memory here; libcurl's own memory is wiped.
    package var body: SecretBytes?
    /// Lines `Name: value`, at most seven. The Content-Type of a form is added to a body.
    package var headers: [SecretBytes] = []
    /// The authorities that sign the server's certificate, a PEM file; nil for the system's.
    package var caFile: String?
    /// The request must be sent by then. Its cancellation ends the request.
    package var deadline: Deadline
    /// Whether a request that was sent is waited for, in spite of deadline and cancellation: 30 seconds.
    package var keepsAnswer = false
    /// Replaced in tests.
    package var limits = HTTPLimits()
    /// Called on this thread when the connection stands, before the first byte of the request. If it throws, nothing is
    /// sent.
    package var whenSending: (() throws(TokenKeepError) -> Void)?

    package init(_ address: WebAddress, body: SecretBytes? = nil, deadline: Deadline) {
        self.address = address
        self.body = body
        self.deadline = deadline
    }

    /// A header with a secret value.
    package static func header(_ name: String, _ value: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretText.joined("\(name): ", value)
    }
}

/// The time limits of a request, in milliseconds.
package struct HTTPLimits {
    /// Until the connection stands, with TLS.
    package var connect: UInt32 = 10_000
    /// From the connection to the end of the answer.
    package var answer: UInt32 = 30_000
    /// In all.
    package var whole: UInt32 = 35_000

    package init() {}
}

/// A server's answer.
package struct HTTPResponse: Sendable {
    package let status: Int
    /// At most 256 KiB.
    package let body: SecretBytes
    /// The headers Content-Type, Date and Retry-After; "" if the answer has none.
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
    /// Whether the server may have got the request. False is certain.
    package let wasSent: Bool
}

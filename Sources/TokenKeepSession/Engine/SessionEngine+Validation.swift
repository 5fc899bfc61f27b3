public import TokenKeepCore

extension SessionEngine {
    private static let extensions: ClosedRange<UInt32> = 300...31_536_000

    /// Asks the server whether it still accepts the access token. After the answer 401, renews the token and asks once
    /// more.
    ///
    /// - Throws: the errors of ``token(minTTL:for:)`` and ``rejected(_:for:)``; ``Status/denied`` if the server also
    ///   refuses the renewed token; ``Status/unavailable`` if the server does not answer. Only ``rejected(_:for:)`` may
    ///   end the session.
    public func validate() throws(TokenKeepError) {
        _ = try storage.requiredTransport()
        try newCall().validate()
    }

    /// Asks the server to extend the session, and saves the answer: new tokens, a new `expires_in`, or neither.
    ///
    /// - Parameter seconds: the extension in seconds, from 300 (five minutes) to 31 536 000 (a year).
    /// - Throws: ``Status/invalid`` for a number out of range, with nothing sent; otherwise the errors of
    ///   ``validate()``.
    public func extend(by seconds: UInt32) throws(TokenKeepError) {
        guard SessionEngine.extensions.contains(seconds) else {
            throw TokenKeepError(
                .invalid,
                "a session is extended by \(SessionEngine.extensions.lowerBound) to "
                    + "\(SessionEngine.extensions.upperBound) seconds",
                hint: "five minutes to a year")
        }
        _ = try storage.requiredTransport()
        try newCall().extend(by: seconds)
    }
}

public import TokenKeepCore

extension SessionEngine {
    private static let extensions: ClosedRange<UInt32> = 300...31_536_000

    /// Asks the server whether it still accepts the access token. A token that it refuses with 401 is renewed, once.
    ///
    /// - Throws: as ``token(minTTL:for:)`` and ``rejected(_:for:)``; ``Status/denied`` if the server refuses the renewed
    ///   token too, ``Status/unavailable`` if it does not answer. Only ``rejected(_:for:)`` may end the session.
    public func validate() throws(TokenKeepError) {
        _ = try storage.requiredTransport()
        try newCall().validate()
    }

    /// Asks the server to let the session last longer, and saves its answer: new tokens, a new `expires_in`, or neither.
    ///
    /// - Parameter seconds: 300 to 31 536 000, five minutes to a year.
    /// - Throws: ``Status/invalid`` for another time; nothing was sent then. Else as ``validate()``.
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

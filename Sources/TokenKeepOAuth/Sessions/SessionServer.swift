package import TokenKeepCore
package import TokenKeepSession

extension SessionOptions {
    /// Sets a transport that sends requests as the provider files describe. If no rotation profile is set, takes it
    /// from the file of the options' provider.
    ///
    /// - Throws: ``Status/invalid`` if that file has an error.
    package mutating func useProviders() throws(TokenKeepError) {
        transport = { request throws(TokenKeepError) in try SessionServer.send(request) }
        transportNotesSending = true
        guard rotation == nil, let provider else { return }
        rotation = try ProviderFiles.standard.provider(named: provider)?.rotation
    }
}

/// Sends the requests of sessions to the servers that the provider files name.
package enum SessionServer {
    /// Sends a request; the transport of ``SessionOptions``. Before a refresh, after the connection is established,
    /// writes into the session's note that the token is about to be sent.
    ///
    /// - Throws: ``Status/unavailable`` if nothing was sent; ``Status/unsupported`` if the session's provider has no
    ///   such endpoint; ``Status/invalid`` if the provider's file has an error.
    package static func send(_ request: SessionRequest) throws(TokenKeepError) -> SessionResponse {
        try send(request, to: provider(of: request))
    }

    /// Returns the provider that the request names; nil if the request names no provider, or if there is no file with
    /// that name.
    package static func provider(of request: SessionRequest) throws(TokenKeepError) -> Provider? {
        try request.provider.flatMap { name throws(TokenKeepError) in
            try ProviderFiles.standard.provider(named: name)
        }
    }

    package static func send(
        _ request: SessionRequest, to provider: Provider?
    ) throws(TokenKeepError) -> SessionResponse {
        let form = try SessionForm(request, provider)
        let http = try form.request()
        do throws(HTTPFailure) {
            let response = try HTTPClient.send(http)
            if request.url == nil { provider?.forgetMetadata(after: response.status, of: form.endpoints) }
            let headers = [("Date", response.date), ("Retry-After", response.retryAfter)].filter { !$0.1.isEmpty }
            return SessionResponse(
                status: response.status, headers: headers.map { (name: $0.0, value: $0.1) }, body: response.body)
        } catch {
            if let cutAnswer = error.cutAnswer { request.keep(cutAnswer: cutAnswer) }
            throw meaning(error, of: request.purpose)
        }
    }

    /// Converts a failure to an error for the engine. For the engine, ``Status/unavailable`` means that nothing was
    /// sent.
    private static func meaning(_ failure: HTTPFailure, of purpose: SessionRequest.Purpose) -> TokenKeepError {
        let error = failure.error
        switch (failure.wasSent, error.status) {
        // A cancelled refresh that was not sent becomes `unavailable`, so that the engine restores its note. The engine
        // notices the cancellation itself.
        case (false, .cancelled) where purpose == .refresh || purpose == .extend: fallthrough
        case (false, .timedOut), (false, .io):
            return TokenKeepError(.unavailable, error.message, module: error.module, hint: error.hint)
        case (true, .unavailable):
            return TokenKeepError(.io, error.message, module: error.module, hint: error.hint)
        default: return error
        }
    }
}

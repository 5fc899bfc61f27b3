import TokenKeepCore
import TokenKeepSession

/// Converts a session's request to an HTTP request in the form that the provider requires.
struct SessionForm {
    private let session: SessionRequest
    private let provider: Provider?
    private var parts: [(String, SecretBytes)] = []
    private var headers: [SecretBytes] = []

    init(_ request: SessionRequest, _ provider: Provider?) throws(TokenKeepError) {
        session = request
        self.provider = provider
        if provider?[.exec] != nil {
            throw TokenKeepError(
                .unsupported, "\(provider?.source ?? "") asks by a command, which only the program tokenkeep runs")
        }
        headers = [try SecretBytes("Accept: application/json")]
        switch request.purpose {
        case .refresh:
            try addUse()
            try addClient()
        case .revoke: try addClient()
        case .validate: try addBearer()
        case .extend:
            try addBearer()
            let amount = provider?.inExtendUnit(request.seconds ?? 0) ?? 0
            parts = [(provider?[.extendField] ?? "seconds", try SecretBytes("\(amount)"))]
        }
    }

    func request() throws(TokenKeepError) -> HTTPRequest {
        var request = HTTPRequest(try address(), deadline: session.sendBy)
        switch session.purpose {
        case .validate: break
        case .extend: request.body = try SessionRequest.form(parts)
        case .refresh, .revoke: request.body = try SessionRequest.form(parts, after: session.body)
        }
        request.headers = headers
        request.caFile = provider?[.caFile]
        request.keepsAnswer = session.purpose == .refresh || session.purpose == .extend
        request.whenSending = { [session] () throws(TokenKeepError) in try session.willSend() }
        return request
    }

    /// The keys that may name the request's endpoint. The first key for which the provider has an address is used.
    var endpoints: [ProviderKey] {
        switch session.purpose {
        case .refresh: [.tokenEndpoint]
        case .revoke: [.revocationEndpoint]
        case .validate: [.validateEndpoint, .userinfoEndpoint]
        case .extend: [.extendEndpoint]
        }
    }

    private func address() throws(TokenKeepError) -> WebAddress {
        let keys = endpoints
        if let url = session.url { return try WebAddress(url) }
        guard let provider else {
            if let name = session.provider {
                throw TokenKeepError(
                    .unsupported,
                    "there is no file of the provider \(name), which the session of \(session.service) "
                        + "(\(session.account)) names",
                    hint: "write providers.d/\(name).conf (docs/signing-in.md), or give --exec COMMAND")
            }
            throw TokenKeepError(
                .unsupported, "nothing was given that asks the server about \(session.service) (\(session.account))",
                hint: "give --exec COMMAND, or begin the session with --provider NAME (tokenkeep provider list)")
        }
        for key in keys {
            if let address = try provider.endpoint(key, until: session.sendBy) { return address }
        }
        throw TokenKeepError(
            .unsupported, "the provider \(provider.name) has no \(keys[0].rawValue)",
            hint: "add it to \(provider.source), or give --exec COMMAND")
    }

    /// Adds the provider's resource and audience to the form, unless the request itself names a resource.
    private mutating func addUse() throws(TokenKeepError) {
        guard session.target?.resource == nil else { return }
        if let resource = provider?[.resource] { parts.append(("resource", try SecretBytes(resource))) }
        if let audience = provider?[.audience] { parts.append(("audience", try SecretBytes(audience))) }
    }

    private mutating func addBearer() throws(TokenKeepError) {
        headers.append(try HTTPRequest.header("Authorization", SecretText.joined("Bearer ", session.token)))
    }

    private mutating func addClient() throws(TokenKeepError) {
        guard let client = session.clientID ?? provider?[.clientID] else { return }
        var form = ClientAuthentication(headers: headers, fields: parts)
        try form.add(
            client, of: provider, hasID: session.clientID != nil, session.store, mayPrompt: false,
            until: session.sendBy)
        (headers, parts) = (form.headers, form.fields)
    }
}

import TokenKeepCore
import TokenKeepOAuth

/// The JSON values that the commands `provider …` print.
enum ProviderJSON {
    /// A provider in the list.
    struct Entry: Encodable {
        private enum CodingKeys: String, CodingKey {
            case name, server, file, problem
            case hasClient = "client_id"
        }

        let name: String
        let hasClient: Bool
        let origin, source: String?
        let error: TokenKeepError?
        private let server, file: JSONOutput.Nullable<String>
        private let problem: JSONOutput.Nullable<JSONOutput.Problem>

        init(_ name: String, _ files: ProviderFiles) {
            var found: Provider?
            var failure: TokenKeepError?
            do throws(TokenKeepError) {
                found = try files.provider(named: name)
            } catch {
                failure = error
            }
            self.name = name
            hasClient = found?[.clientID] != nil
            let address = found.flatMap { $0[.issuer] ?? $0[.tokenEndpoint] }
            origin = address.flatMap { try? WebAddress($0).origin }
            source = found?.source
            error = failure
            server = JSONOutput.Nullable(origin)
            file = JSONOutput.Nullable(source)
            problem = JSONOutput.Nullable(failure.map(JSONOutput.Problem.init))
        }

        /// See `Encodable`.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try container.encode(server, forKey: .server)
            try container.encode(hasClient, forKey: .hasClient)
            try container.encode(file, forKey: .file)
            try container.encode(problem, forKey: .problem)
        }
    }

    /// The JSON object of `provider list`.
    struct Listing: Encodable {
        let providers: [Entry]
    }

    /// The JSON object of `provider show`.
    struct Shown: Encodable {
        let name, file: String
        let values, parameters: [String: String]

        init(_ provider: Provider) {
            name = provider.name
            file = provider.source
            values = Dictionary(
                uniqueKeysWithValues: provider.values.filter { $0.key != .include }
                    .map { ($0.key.rawValue, $0.value.text) })
            parameters = provider.parameters.mapValues(\.text)
        }
    }
}

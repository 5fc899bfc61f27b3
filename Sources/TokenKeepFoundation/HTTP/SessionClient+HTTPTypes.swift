#if HTTPTypes
    public import Foundation
    import FoundationNetworking
    public import HTTPTypes
    import HTTPTypesFoundation

    /// Requests with the types of swift-http-types. Available only with the package's trait `HTTPTypes`.
    extension SessionClient {
        /// Sends a request and returns the body and the response, whatever its status.
        ///
        /// - Throws: the errors of `data(for:)` for a `URLRequest`.
        public func data(for request: HTTPRequest, body: Data? = nil) async throws -> (Data, HTTPResponse) {
            let (data, response) = try await data(for: urlRequest(request, body))
            guard let answer = response.httpResponse else { throw APIError.unknown }
            return (data, answer)
        }

        /// Sends a request and decodes the body of a success as JSON.
        ///
        /// - Throws: the errors of `request(_:as:decoder:)` for a `URLRequest`.
        public func request<Value: Decodable & Sendable>(
            _ request: HTTPRequest, body: Data? = nil, as type: Value.Type = Value.self,
            decoder: JSONDecoder = JSONDecoder()
        ) async throws -> Value {
            try await self.request(urlRequest(request, body), as: type, decoder: decoder)
        }

        private func urlRequest(_ request: HTTPRequest, _ body: Data?) throws(APIError) -> URLRequest {
            guard var made = URLRequest(httpRequest: request) else { throw .invalidURL }
            made.httpBody = body
            return made
        }
    }
#endif

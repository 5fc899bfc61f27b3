import TokenKeepCore
import TokenKeepSession

extension TokenSession {
    /// A server's treatment of a refresh token after its use.
    public enum Rotation: Sendable, Equatable {
        /// The token is dead, and its reuse may end the session. Safe with every server.
        case strict
        /// The token is valid for this time.
        case overlap(Duration)
        /// The token stays the same.
        case none
    }

    /// A request that the application sends to the server.
    public struct Request: Sendable {
        /// The purpose for which the session sends a request to its server.
        public enum Purpose: Sendable {
            /// Renew the access token (RFC 6749 section 6).
            case refresh
            /// Revoke a token (RFC 7009).
            case revoke
            /// Ask with GET whether an access token is still accepted: a status from 200 to 299, or 401.
            case validate
            /// Let the session last longer.
            case extend

            init(_ core: SessionRequest.Purpose) {
                switch core {
                case .refresh: self = .refresh
                case .revoke: self = .revoke
                case .validate: self = .validate
                case .extend: self = .extend
                }
            }
        }

        /// The purpose of the request.
        public let purpose: Purpose
        /// The session's account.
        public let account: String
        /// The address that the options name; nil for all but a refresh.
        public let url: String?
        /// The token that the request is about.
        public let token: TokenStore.Secret
        /// The body for POST, `application/x-www-form-urlencoded`: empty to validate, `seconds=N` to extend.
        public let body: TokenStore.Secret

        init(_ core: SessionRequest) {
            purpose = Purpose(core.purpose)
            account = core.account
            url = core.url
            token = TokenStore.Secret(core: core.token)
            body = TokenStore.Secret(core: core.body)
        }
    }

    /// The server's answer.
    public struct Response: Sendable {
        let core: SessionResponse

        /// An answer. The headers Date and Retry-After count.
        public init(status: Int, headers: [String: String] = [:], body: TokenStore.Secret) {
            core = SessionResponse(
                status: status, headers: headers.map { ($0.key, $0.value) }, body: body.core)
        }
    }

    /// Sends a request and returns the answer.
    ///
    /// A ``TokenKeepError`` with ``TokenKeepError/Status/unavailable`` means that nothing was sent: the request is tried
    /// again. Any other error means that the server may have got the request. After 30 seconds the task is cancelled.
    public typealias Transport = @Sendable (Request) async throws -> Response

    /// The options of a session.
    public struct Options: Sendable {
        /// Sends requests to the server; nil for libcurl, at the endpoints in the provider's file.
        public var transport: Transport?
        /// Whether ``TokenSession/run()`` asks the server every 3 minutes whether it still accepts the token.
        public var validates = false
        /// The name of the provider (docs/signing-in.md), for lists and for a session that begins.
        public var provider: String?
        /// The address of the token endpoint, a part of requests.
        public var refreshURL: String?
        /// The client's id, a part of requests' bodies.
        public var clientID: String?
        /// The server's treatment of used refresh tokens; nil for the profile of the sign-in, else strict.
        public var rotation: Rotation?
        /// The level of the session's item; nil for its present level, else after first unlock.
        public var accessibility: TokenItem.Accessibility?
        /// The level of the refresh token, stricter than ``accessibility``: the token is then an item of its own, and the
        /// session is not renewed while that level is locked. nil for the token's present level.
        public var refreshAccessibility: TokenItem.Accessibility?
        /// The time limit of a call.
        public var timeout: Duration = .seconds(35)
        /// The time for the answer to a request, in milliseconds; replaced in tests.
        package var answerLimit: UInt32 = 30_000

        /// The provider's file, 35 seconds a call.
        public init() {}

        var core: SessionOptions {
            var options = SessionOptions(transport: transport.map(Options.synchronous), level: accessibility?.core)
            options.answerLimit = answerLimit
            options.refreshLevel = refreshAccessibility?.core
            options.provider = provider
            options.validates = validates
            options.refreshURL = refreshURL
            options.clientID = clientID
            options.rotation =
                switch rotation {
                case nil: nil
                case .strict?: .strict
                case .overlap(let time)?: .overlap(seconds: UInt32(clamping: time.components.seconds))
                case Rotation.none?: RotationProfile.none
                }
            let (seconds, attoseconds) = timeout.components
            // More than 49 days do not fit into 32 bits of milliseconds.
            let milliseconds = min(max(seconds, 0), 4_294_967) * 1000 + attoseconds / 1_000_000_000_000_000
            options.timeoutMilliseconds = max(1, UInt32(clamping: milliseconds))
            return options
        }

        /// The transport for the engine. The engine's thread waits for the task, and is not of Swift's cooperative pool.
        private static func synchronous(_ transport: @escaping Transport) -> SessionTransport {
            { request throws(CoreError) in
                var task: Task<Void, Never>?
                let result = LimitedWork<Result<SessionResponse, CoreError>>.value(
                    withinMilliseconds: request.deadline.remainingMilliseconds
                ) { finish in
                    task = Task.detached {
                        do {
                            finish(.success(try await transport(Request(request)).core))
                        } catch let error as TokenKeepError {
                            finish(.failure(error.core))
                        } catch {
                            finish(.failure(CoreError(.io, "the application got no answer")))
                        }
                    }
                }
                guard let result else {
                    task?.cancel()
                    throw CoreError(.timedOut, "the application did not answer in time")
                }
                return try result.get()
            }
        }
    }
}

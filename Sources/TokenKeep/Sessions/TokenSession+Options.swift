import TokenKeepCore
import TokenKeepSession

extension TokenSession {
    /// Whether a refresh token stays valid at the server after its use.
    public enum Rotation: Sendable, Equatable {
        /// A used token is invalid, and its reuse may end the session. This value is safe with every server.
        case strict
        /// A used token stays valid for this time.
        case overlap(Duration)
        /// A used token stays valid, and the server does not replace it.
        case none
    }

    /// A request that the application sends to the server.
    public struct Request: Sendable {
        /// The purpose for which the session sends a request to its server.
        public enum Purpose: Sendable {
            /// Renews the access token (RFC 6749 section 6).
            case refresh
            /// Revokes a token (RFC 7009).
            case revoke
            /// Validates an access token by GET: a status from 200 to 299 accepts the token, 401 refuses it.
            case validate
            /// Extends the session at the server.
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
        /// The `refreshURL` of the options for a refresh; nil for all other purposes.
        public let url: String?
        /// The token to renew, revoke, validate or extend.
        public let token: TokenStore.Secret
        /// The body for POST, `application/x-www-form-urlencoded`. For a validation it is empty; for an extension it is
        /// `seconds=N`.
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

        /// Makes an answer. Only the headers Date and Retry-After are used.
        public init(status: Int, headers: [String: String] = [:], body: TokenStore.Secret) {
            core = SessionResponse(
                status: status, headers: headers.map { ($0.key, $0.value) }, body: body.core)
        }
    }

    /// Sends a request and returns the answer.
    ///
    /// A ``TokenKeepError`` with ``TokenKeepError/Status/unavailable`` means that nothing was sent, so the request is
    /// sent again. Any other error means that the server may have received the request. The task in which the transport
    /// runs is cancelled after 30 seconds.
    public typealias Transport = @Sendable (Request) async throws -> Response

    /// The options of a session.
    public struct Options: Sendable {
        /// Sends requests to the server; nil to send them by libcurl to the endpoints in the provider's file.
        public var transport: Transport?
        /// Whether ``TokenSession/run()`` validates the token at the server every 3 minutes.
        public var validates = false
        /// The name of the provider (docs/signing-in.md), which is stored when a session begins and shown in lists.
        public var provider: String?
        /// The address of the token endpoint. Requests pass it on to the transport as ``Request/url``.
        public var refreshURL: String?
        /// The client's id, which is sent in the bodies of requests.
        public var clientID: String?
        /// Whether used refresh tokens stay valid at the server; nil for the value that the last sign-in set, or strict
        /// if it set none.
        public var rotation: Rotation?
        /// The level of the session's item; nil for its present level, or after first unlock for a new item.
        public var accessibility: TokenItem.Accessibility?
        /// The level of the refresh token if it is stricter than ``accessibility``; nil for the token's present level.
        ///
        /// At a stricter level, the refresh token is stored as an item of its own, and the session cannot be renewed
        /// while this level is locked.
        public var refreshAccessibility: TokenItem.Accessibility?
        /// The time limit of a call.
        public var timeout: Duration = .seconds(35)
        /// The maximum time to wait for the answer to a request, in milliseconds. Tests replace it.
        package var answerLimit: UInt32 = 30_000

        /// Makes options that use the provider's file, with a timeout of 35 seconds for each call.
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
            // Limits the seconds to 49 days, because more milliseconds do not fit into 32 bits.
            let milliseconds = min(max(seconds, 0), 4_294_967) * 1000 + attoseconds / 1_000_000_000_000_000
            options.timeoutMilliseconds = max(1, UInt32(clamping: milliseconds))
            return options
        }

        /// Wraps a transport for the engine, whose calls are synchronous. The engine's thread blocks until the
        /// transport's task ends. It may block, because it is not a thread of Swift's cooperative pool.
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

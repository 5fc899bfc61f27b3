public import Foundation
public import FoundationNetworking

extension OfflineQueue {
    /// A queued request, without its headers and body.
    public struct Request: Sendable, Identifiable, Equatable {
        /// The ID of the request in its queue.
        public let id: String
        /// The address of the request.
        public let url: URL
        /// The method of the request, for example `POST`.
        public let method: String
        /// The value of the header `Idempotency-Key`. It is the same each time the request is sent.
        public let idempotencyKey: String
        /// The time at which the request was added.
        public let addedAt: Date
        /// The time at which the request expires: it then leaves the queue without being sent.
        public let endsAt: Date
        /// The number of bytes that the request uses in the queue.
        public let byteCount: Int
        /// Whether the request stays in the queue after a logout.
        public let outlivesLogout: Bool

        init(_ entry: QueueEntry, _ stored: StoredRequest) {
            id = entry.id
            url = stored.url
            method = stored.method
            idempotencyKey = stored.key
            addedAt = Date(timeIntervalSince1970: TimeInterval(stored.added))
            endsAt = Date(timeIntervalSince1970: TimeInterval(entry.end))
            byteCount = entry.bytes
            outlivesLogout = entry.outlivesLogout
        }
    }

    /// The outcome of a request that leaves the queue.
    public enum Outcome: Sendable {
        /// The server accepted the request: a status from 200 to 299.
        case accepted(Data, HTTPURLResponse)
        /// The server refused the request permanently, for example with 409. The application decides what follows.
        case refused(Data, HTTPURLResponse)
        /// The request's lifetime ended. The server may have received it in an earlier attempt whose response was lost.
        case expired
    }

    /// The state of a queue after a change by this object.
    public struct Progress: Sendable, Equatable {
        /// The number of queued requests.
        public let waiting: Int
        /// The number of bytes that the queued requests use.
        public let byteCount: Int
        /// The number of requests that have left the queue because this object sent them or found them expired.
        public let left: Int
    }

    /// The reason why a request does not fit into a queue.
    public enum LimitError: Error, Sendable, Equatable {
        /// The queue already has 1 000 requests.
        case tooManyRequests
        /// The queue would exceed 64 MiB.
        case tooManyBytes
        /// The request's lifetime is not from 1 second to 31 days.
        case lifetime
    }
}

extension OfflineQueue.LimitError: LocalizedError {
    /// The message for the user.
    public var errorDescription: String? {
        switch self {
        case .tooManyRequests: "Too many requests are waiting for a connection"
        case .tooManyBytes: "The requests that are waiting for a connection are too large"
        case .lifetime: "The time to wait for a connection is not between a second and 31 days"
        }
    }
}

public import Foundation
public import FoundationNetworking

extension OfflineQueue {
    /// A request that waits in a queue, without its headers and body.
    public struct Request: Sendable, Identifiable, Equatable {
        /// The ID of the request in its queue.
        public let id: String
        /// The address.
        public let url: URL
        /// The method.
        public let method: String
        /// The value of the header `Idempotency-Key`, the same each time the request is sent.
        public let idempotencyKey: String
        /// The time at which the request was added.
        public let addedAt: Date
        /// The time at which the request leaves the queue unsent.
        public let endsAt: Date
        /// The bytes that the request takes in the queue.
        public let byteCount: Int
        /// Whether a logout leaves the request in the queue.
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
        /// The server refused the request for good, for example with 409. The application decides what to do.
        case refused(Data, HTTPURLResponse)
        /// The request's time was over. The server may have got the request in an earlier attempt whose answer was lost.
        case expired
    }

    /// The state of a queue after a change by this object.
    public struct Progress: Sendable, Equatable {
        /// The number of requests that wait.
        public let waiting: Int
        /// The bytes that the waiting requests take.
        public let byteCount: Int
        /// The number of requests that this object has sent or found expired since the object was made.
        public let left: Int
    }

    /// The reason why a request does not fit into a queue.
    public enum LimitError: Error, Sendable, Equatable {
        /// The queue already has 1 000 requests.
        case tooManyRequests
        /// The queue would have more than 64 MiB.
        case tooManyBytes
        /// The request's lifetime is not from 1 second to 31 days.
        case lifetime
    }
}

extension OfflineQueue.LimitError: LocalizedError {
    /// The message for people.
    public var errorDescription: String? {
        switch self {
        case .tooManyRequests: "Too many requests are waiting for a connection"
        case .tooManyBytes: "The requests that are waiting for a connection are too large"
        case .lifetime: "The time to wait for a connection is not between a second and 31 days"
        }
    }
}

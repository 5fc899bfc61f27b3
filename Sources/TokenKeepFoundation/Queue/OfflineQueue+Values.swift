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
        /// When the request was added.
        public let addedAt: Date
        /// When the request leaves the queue unsent.
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
        /// The server did what the request asks: a status from 200 to 299.
        case accepted(Data, HTTPURLResponse)
        /// The server will not do it, for example with 409: the application decides.
        case refused(Data, HTTPURLResponse)
        /// The request's time was over. The server may have got it earlier, if its answers were lost.
        case expired
    }

    /// The state of a queue after a change by this object.
    public struct Progress: Sendable, Equatable {
        /// The requests that wait.
        public let waiting: Int
        /// The bytes that they take.
        public let byteCount: Int
        /// The requests that this object has sent or found expired since it was made.
        public let left: Int
    }

    /// The reason why a request does not fit into a queue.
    public enum LimitError: Error, Sendable, Equatable {
        /// 1 000 requests wait.
        case tooManyRequests
        /// The requests would take more than 64 MiB.
        case tooManyBytes
        /// The time of the request is not from 1 second to 31 days.
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

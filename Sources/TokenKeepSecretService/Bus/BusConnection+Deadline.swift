import TokenKeepCore

/// Calls that end at their deadline, even if the service does not answer.
extension BusConnection {
    /// Sends one call and waits for the reply. See ``exchange(_:until:patience:)`` for several calls.
    ///
    /// - Throws: ``Status/timedOut``; ``Status/cancelled``.
    func exchange(
        _ call: MethodCall, until deadline: Deadline, patience: UInt32 = BusConnection.hasty
    ) throws(TokenKeepError) -> Reply {
        try exchange([call], until: deadline, patience: patience).first ?? .disconnected
    }

    /// Sends several calls together, and returns their replies in the same order.
    ///
    /// Sends nothing if the deadline has passed or the call was cancelled.
    ///
    /// - Parameter patience: the time, in milliseconds, after which a missing reply opens the breaker.
    /// - Throws: ``Status/timedOut`` if the deadline passes first, which opens the breaker if `patience` has passed,
    ///   too; ``Status/cancelled``, which does not open the breaker.
    func exchange(
        _ calls: [MethodCall], until deadline: Deadline, patience: UInt32 = BusConnection.hasty
    ) throws(TokenKeepError) -> [Reply] {
        guard !deadline.hasPassed else { throw BusConnection.late(deadline) }
        let context = try MainContext.forExchange()
        return try replies(to: start(calls, patience: patience), in: context, until: deadline)
    }

    /// Waits for the replies to sent calls. Must run in the context in which the calls were sent.
    func replies(
        to sent: [Sent], in context: borrowing MainContext, until deadline: Deadline
    ) throws(TokenKeepError) -> [Reply] {
        let isDone = { sent.allSatisfy { $0.pending.isDone } }
        guard context.run(until: deadline, isDone) else {
            let unanswered = sent.filter { !$0.pending.isDone }
            cancel(unanswered)
            if !deadline.isCancelled, unanswered.contains(where: \.patience.hasPassed) {
                breaker.open(unanswered: unanswered.map(\.serial)) { ping(unanswered.first?.call.destination) }
            }
            context.deliver(atMost: 4 * sent.count + 16, until: isDone)
            throw BusConnection.late(deadline)
        }
        return sent.map { one in
            let reply = one.pending.result ?? .disconnected
            if reply.isLoss, one.call.destination != ServiceOwner.bus { noteLoss() }
            guard case .answer(let body) = reply, !body.isOf(type: one.call.answerType) else { return reply }
            return .malformed
        }
    }

    static func late(_ deadline: Deadline) -> TokenKeepError {
        deadline.failure("the Secret Service did not answer in time")
    }
}

import TokenKeepCore

/// The part of the circuit breaker that all processes of the user share: a mark about a service that did not answer.
extension BusConnection {
    /// The maximum wait for a service that did not answer an earlier call, in milliseconds.
    static let longestProbe: UInt32 = 250

    /// Writes a mark, because the service did not answer a call in time.
    ///
    /// - Parameter milliseconds: the time limit of the call. If the limit is too short to prove that the service hangs,
    ///   no mark is written.
    func leaveMark(after milliseconds: UInt32) {
        guard milliseconds > BusConnection.hasty, let owner = watch.usedOwner else { return }
        mark?.leave(owner: owner)
    }

    /// Queries a property of the service, and waits at most ``longestProbe``.
    ///
    /// A Ping would not suffice, because libraries answer Pings on a thread of their own even while the service's main
    /// loop hangs. An error reply counts as an answer, as does the end of the service.
    ///
    /// - Throws: ``Status/timedOut``, which opens the breaker unless the call's deadline cut the probe short;
    ///   ``Status/cancelled``.
    func probe(_ owner: String, until deadline: Deadline) throws(TokenKeepError) {
        let question = MethodCall(
            destination: owner, path: .service, interface: "org.freedesktop.DBus.Properties", member: "Get",
            body: .tuple([.string("org.freedesktop.Secret.Service"), .string("Collections")]), answerType: "(v)")
        let end = deadline.within(milliseconds: BusConnection.longestProbe)
        _ = try exchange(question, until: end, patience: end < deadline ? 0 : BusConnection.hasty)
    }

    /// If there is a mark, probes the service. Removes the mark if the service answers.
    ///
    /// - Throws: ``Status/unavailable`` if the service does not answer within ``longestProbe``; then this process's
    ///   breaker is open, and the mark stays. ``Status/cancelled``.
    func checkMark(of owner: String, until deadline: Deadline) throws(TokenKeepError) {
        guard let mark, mark.mayExist else { return }
        guard mark.owner() == owner else { return mark.remove() }
        do throws(TokenKeepError) {
            try probe(owner, until: deadline)
        } catch {
            guard error.status == .timedOut else { throw error }
            throw TokenKeepError(
                .unavailable, "the Secret Service did not answer another program and has not come back",
                hint: "restart the keyring daemon, or use the vault alone")
        }
        mark.remove()
    }
}

import TokenKeepCore

/// The part of the circuit breaker that all processes of the user share: a mark about a silent service.
extension BusConnection {
    /// The maximum wait for a service that did not answer an earlier call, in milliseconds.
    static let longestProbe: UInt32 = 250

    /// A call of at most this many milliseconds leaves no mark: a healthy service on a busy machine may need that long.
    private static let hastyCall: UInt32 = 500

    /// Leaves a mark, because the service did not answer a call in time.
    ///
    /// - Parameter milliseconds: the time limit that the call had.
    func leaveMark(after milliseconds: UInt32) {
        guard milliseconds > BusConnection.hastyCall, let owner = watch.usedOwner else { return }
        mark?.leave(owner: owner)
    }

    /// If there is a mark, asks the service for a property, and removes the mark if the service answers.
    ///
    /// A Ping would not suffice: libraries answer it on a thread of their own while the service's main loop hangs. An
    /// error counts as an answer, and so does the end of the service.
    ///
    /// - Throws: ``Status/unavailable`` if the service does not answer within ``longestProbe``. After that failure this
    ///   process's breaker is open, and the mark stays. ``Status/cancelled``.
    func checkMark(of owner: String, until deadline: Deadline) throws(TokenKeepError) {
        guard let mark, mark.mayExist else { return }
        guard mark.owner() == owner else { return mark.remove() }
        let question = MethodCall(
            destination: owner, path: .service, interface: "org.freedesktop.DBus.Properties", member: "Get",
            body: .tuple([.string("org.freedesktop.Secret.Service"), .string("Collections")]), answerType: "(v)")
        do throws(TokenKeepError) {
            _ = try exchange(question, until: deadline.within(milliseconds: BusConnection.longestProbe))
        } catch {
            guard error.status == .timedOut else { throw error }
            throw TokenKeepError(
                .unavailable, "the Secret Service did not answer another program and has not come back",
                hint: "restart the keyring daemon, or use the vault alone")
        }
        mark.remove()
    }
}

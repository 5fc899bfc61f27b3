import TokenKeepCore

/// The part of the breaker that all processes of the user share.
extension BusConnection {
    /// The longest wait for a service that did not answer an earlier call, in milliseconds.
    static let longestProbe: UInt32 = 250

    /// The longest time of a call that leaves no mark: a healthy service may take so long on a busy machine.
    private static let hastyCall: UInt32 = 500

    /// Leaves a mark after a call that the service did not answer within its time.
    ///
    /// - Parameter milliseconds: the time that the call had.
    func leaveMark(after milliseconds: UInt32) {
        guard milliseconds > BusConnection.hastyCall, let owner = watch.usedOwner else { return }
        mark?.leave(owner: owner)
    }

    /// Asks the service for a sign of life if a process has left a mark, and removes the mark if it answers.
    ///
    /// The question is for a property, not a Ping: libraries answer a Ping on a thread of their own while the service's
    /// main loop hangs. An error counts as an answer, and so does the end of the service.
    ///
    /// - Throws: ``Status/unavailable`` if the service does not answer within ``longestProbe``, which opens this
    ///   process's breaker and leaves the mark. ``Status/cancelled``.
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

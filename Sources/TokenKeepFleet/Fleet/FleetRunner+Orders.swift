import TokenKeepCore
import TokenKeepSession

extension FleetRunner {
    /// Obeys every pending order. Returns the revision of the orders' listing.
    func obey(_ surroundings: RunnerSurroundings) throws(RegistryFailure) -> Int64 {
        let orders = try registry.list(prefix: paths.orders(of: fleet.device), keysOnly: false)
        let everywhere = try registry.list(prefix: paths.everywheres, keysOnly: false)
        state.meet(cluster: orders.cluster, revision: orders.revision)
        for entry in orders.entries {
            try passing(surroundings) { () throws(RegistryFailure) in try obey(entry, surroundings) }
        }
        for entry in everywhere.entries {
            try passing(surroundings) { () throws(RegistryFailure) in try obeyEverywhere(entry, surroundings) }
        }
        return orders.revision
    }

    /// Runs `body`, which obeys one order. If `body` fails with a fault, only warns: the order stays in the registry,
    /// and later orders are still obeyed.
    private func passing(
        _ surroundings: RunnerSurroundings, _ body: () throws(RegistryFailure) -> Void
    ) throws(RegistryFailure) {
        do throws(RegistryFailure) {
            try body()
        } catch {
            guard error.kind == .fault else { throw error }
            surroundings.warn(error.error)
        }
    }

    private func present() throws(RegistryFailure) -> (sessions: [LocalSession], problem: TokenKeepError?) {
        let (found, problem) = try EtcdRegistry.needing { () throws(TokenKeepError) in
            try local.list(offset: registry.clockOffset)
        }
        return (found.map(\.local), problem)
    }

    private func obey(_ entry: RegistryEntry, _ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        guard let parts = paths.parts(of: entry.key), parts.count == 3, FleetPaths.isID(parts[2], digits: 32) else {
            return
        }
        let (sessions, problem) = try present()
        let (id, device, key) = (parts[2], fleet.device, fleet.key)
        let order = OrderValue.open(entry, key)
        let decision = OrderRules.decide(
            order, id: id, expectedID: { key.orderID(device: device, session: $0.session) },
            isObeyed: state.obeyed.contains(id), local: sessions, now: RegistryClock.now(registry))
        switch decision {
        case .ignore:
            surroundings.warn(
                TokenKeepError(
                    .corrupt, "an order in the registry is forged, moved or of a later version; it is not obeyed",
                    module: "registry"))
        case .answer(let outcome):
            // Some session's note cannot be read, perhaps that of the order's session. So do not answer "gone": the
            // order stays in the registry until the note is rebuilt.
            if outcome == .gone, let problem { throw RegistryFailure(.fault, problem) }
            try answer(id, entry.key, outcome, "none", surroundings)
        case .end(let session):
            let ended = try end(session, order?.reason ?? "", surroundings)
            let revocation = ended.map { $0.report.revocation.word } ?? "none"
            try answer(id, entry.key, ended == nil ? .gone : .done, revocation, surroundings)
            if let ended, ended.report.revocation == .queued { try revoke(ended.session, id) }
        }
    }

    private func end(
        _ session: LocalSession, _ reason: String, _ surroundings: RunnerSurroundings
    ) throws(RegistryFailure) -> (session: SessionEngine, report: EndReport)? {
        let ended = try EtcdRegistry.needing { () throws(TokenKeepError) in
            try local.end(session, options, surroundings.prepare)
        }
        if ended != nil { surroundings.ended(session.service, session.account, reason) }
        return ended
    }

    /// Writes the result and removes the order in one transaction. A full registry accepts the removal alone.
    private func answer(
        _ id: String, _ path: String, _ outcome: ResultValue.Outcome, _ revocation: String,
        _ surroundings: RunnerSurroundings
    ) throws(RegistryFailure) {
        // Remember the order only if it ended a session. An order with another outcome may be given again under the
        // same id, and must then be obeyed.
        if outcome == .done {
            state.remember(order: id)
            save(surroundings)
        }
        do throws(RegistryFailure) {
            let change = try result(id, outcome, revocation)
            _ = try registry.change([change, .delete(path)], ifPresent: [path])
        } catch {
            guard error.kind == .full else { throw error }
            _ = try registry.change([.delete(path)], ifAbsent: [])
        }
    }

    private func result(
        _ id: String, _ outcome: ResultValue.Outcome, _ revocation: String
    ) throws(RegistryFailure) -> RegistryChange {
        let path = paths.result(id)
        let value = ResultValue(
            device: fleet.device, outcome: outcome, revocation: revocation, at: RegistryClock.now(registry))
        return .put(path, try sealed(value, for: path), lease: try registry.grant(seconds: ResultValue.lifetime))
    }

    /// Revokes an ended session's tokens at its provider, and updates the order's result. Failed revocations stay in
    /// the outbox.
    private func revoke(_ session: SessionEngine, _ id: String) throws(RegistryFailure) {
        guard options.transport != nil, let flushed = try? session.outbox.flush(of: session.name), flushed.sent > 0,
            flushed.left == 0, flushed.problem == nil
        else { return }
        _ = try registry.change([result(id, .done, EndReport.Revocation.done.word)], ifPresent: [paths.result(id)])
    }

    private func obeyEverywhere(_ entry: RegistryEntry, _ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        guard let everywhere = EverywhereValue.open(entry, fleet.key) else {
            surroundings.warn(
                TokenKeepError(
                    .corrupt, "an order in the registry is forged, moved or of a later version; it is not obeyed",
                    module: "registry"))
            return
        }
        let now = RegistryClock.now(registry)
        guard OrderRules.isDue(everywhere, obeyed: state.handled[entry.key], joined: state.joined, now: now) else {
            return
        }
        let (sessions, problem) = try present()
        var failure = problem.map { RegistryFailure(.fault, $0) }
        for session in OrderRules.ended(by: everywhere, among: sessions) {
            do throws(RegistryFailure) {
                guard let ended = try end(session, everywhere.reason, surroundings) else { continue }
                if options.transport != nil, ended.report.revocation == .queued {
                    _ = try? ended.session.outbox.flush(of: ended.session.name)
                }
            } catch {
                failure = error
            }
        }
        // If a session could not be ended, the order counts as pending and is obeyed again later.
        if let failure { throw failure }
        state.remember(event: everywhere.event, of: entry.key)
        save(surroundings)
    }
}

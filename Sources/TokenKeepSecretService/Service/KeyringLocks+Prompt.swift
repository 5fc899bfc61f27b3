internal import CLibsecret
import TokenKeepCore

/// The reason why the service asks for a prompt.
enum PromptReason {
    case unlocking, deleting
    /// None: the service returns a prompt for every call of this kind, and shows nothing to the user.
    case nothing
}

extension KeyringLocks {
    /// Completes a request for which the service returned a prompt. The path "/" means that there is no prompt.
    ///
    /// Dismisses the prompt if the user does not answer before the deadline, or if the call is cancelled.
    ///
    /// - Returns: the prompt's result; nil if there was no prompt.
    /// - Throws: ``Status/locked`` if prompts are not allowed or the user did not answer in time; ``Status/cancelled``
    ///   if the user dismissed the prompt or the call was cancelled.
    func complete(
        _ prompt: ObjectPath, for subject: String, reason: PromptReason = .unlocking
    ) throws(TokenKeepError) -> Variant? {
        guard !prompt.isNone else { return nil }
        guard call.promptsAllowed || reason == .nothing else {
            dismiss(prompt)
            throw reason == .deleting ? ServiceFailure.asksBeforeDeleting(subject) : ServiceFailure.locked(subject)
        }
        let outcome = try show(prompt, for: subject)
        guard let outcome else {
            dismiss(prompt)
            throw call.deadline.isCancelled ? BusConnection.late(call.deadline) : ServiceFailure.locked(subject)
        }
        guard outcome.isOf(type: "(bv)"), let dismissed = outcome[0].boolean else {
            throw TokenKeepError(.corrupt, "the Secret Service answered a prompt with a malformed message")
        }
        guard !dismissed else {
            throw reason == .nothing && !call.promptsAllowed
                ? TokenKeepError(.io, "the Secret Service did not do what was asked for \(subject)")
                : TokenKeepError(.cancelled, "the prompt for \(subject) was dismissed")
        }
        return outcome[1].content
    }

    private func dismiss(_ prompt: ObjectPath) {
        link.connection.post(ask(prompt, "org.freedesktop.Secret.Prompt", "Dismiss", [], "()"))
    }

    /// Shows a prompt and waits for its result; nil if the call's deadline passes first.
    private func show(_ prompt: ObjectPath, for subject: String) throws(TokenKeepError) -> Variant? {
        let listener = PromptListener()
        let context = try MainContext()
        let data = Unmanaged.passUnretained(listener).toOpaque()
        let completed = glib.pointee.g_dbus_connection_signal_subscribe(
            link.connection.pointer, link.owner, "org.freedesktop.Secret.Prompt", "Completed", prompt.text, nil, 0,
            PromptListener.completed, data, nil)
        defer {
            glib.pointee.g_dbus_connection_signal_unsubscribe(link.connection.pointer, completed)
            context.deliver(atMost: 8) { false }
        }
        _ = try answer(
            ask(prompt, "org.freedesktop.Secret.Prompt", "Prompt", [.string("")], "()"), to: "ask about", subject)
        let left = whole.budget.deadline.remainingMilliseconds
        defer { whole.budget.resume(with: left, until: call.deadline) }
        while listener.outcome == nil, !call.deadline.hasPassed {
            // A service that ends during its prompt sends no result, so check every 250 ms whether it has ended.
            let glance = call.deadline.within(milliseconds: 250)
            if context.run(until: glance, { listener.outcome != nil }) { break }
            guard !link.isLost else {
                throw TokenKeepError(.unavailable, "the Secret Service went away while it asked about \(subject)")
            }
        }
        return listener.outcome
    }
}

/// Receives the result of a prompt.
private final class PromptListener {
    var outcome: Variant?

    static let completed: GDBusSignalCallback = { _, _, _, _, _, parameters, data in
        guard let data, let parameters else { return }
        let listener = Unmanaged<PromptListener>.fromOpaque(data).takeUnretainedValue()
        listener.outcome = listener.outcome ?? Variant(taking: glib.pointee.g_variant_ref(parameters))
    }
}

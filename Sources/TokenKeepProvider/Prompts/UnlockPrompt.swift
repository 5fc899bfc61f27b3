import TokenKeepCore

/// The state of a prompt object that `Unlock` returned to a client.
struct UnlockPrompt {
    /// The maximum time, in milliseconds, that a prompt stays open.
    static let limit: UInt32 = 120_000
    /// The minimum time, in milliseconds, between `Prompt` and `Completed`.
    ///
    /// A client may subscribe to `Completed` only after its call of `Prompt`, and would miss an earlier signal.
    static let holdBack: UInt32 = 100

    let owner: String
    /// The paths to unlock, as the client gave them.
    let paths: [String]
    /// The prompt's number in the order in which prompts were shown; nil before the client calls `Prompt`.
    var turn: UInt64?
    /// The moment before which `Completed` is not sent, because the client may not be subscribed yet.
    var earliestEnd: Deadline?
    /// Whether this prompt's question was already shown to the user, or cannot be shown.
    var wasAsked = false
    /// Whether a worker is currently looking for the terminal or display of this prompt's user.
    var isLookedAt = false
    /// The question that the user is being asked for this prompt; nil while there is none.
    var question: PasswordQuestion?

    var isRunning: Bool { turn != nil }
}

extension Provider {
    func callPrompt(_ message: BusMessage) throws(Refusal) {
        let path = message.path
        guard let prompt = prompts[path] else { throw .unknownObject("there is no prompt \(path)") }
        guard prompt.owner == message.sender else { throw .denied("the prompt is another program's") }
        switch message.member {
        case "Prompt":
            try message.expect("s")
            guard !prompt.isRunning else { throw .alreadyExists("the prompt is shown already") }
            shownPrompts += 1
            prompts[path]?.turn = shownPrompts
            prompts[path]?.earliestEnd = Deadline(milliseconds: UnlockPrompt.holdBack)
            bus.reply(to: message)
            begin(path, message.sender)
        case "Dismiss":
            try message.expect("")
            bus.reply(to: message)
            complete(path, isDismissed: true)
        default: throw .unknownMethod("a prompt has no method \(message.member)")
        }
    }

    private func begin(_ path: String, _ client: String) {
        whenLooked(for: client) { [self] problem in
            guard let prompt = prompts[path] else { return }
            if let problem { Log.line("\(problem.message), for \(caller(of: client))") }
            guard isLocked, problem == nil else { return completeSoon(path, isDismissed: problem != nil) }
            ask(path, prompt)
        }
    }

    /// Ends a prompt, but not before its ``UnlockPrompt/earliestEnd``.
    func completeSoon(_ path: String, isDismissed: Bool) {
        guard let earliest = prompts[path]?.earliestEnd else { return complete(path, isDismissed: isDismissed) }
        timers.after(earliest.remainingMilliseconds) { [self] in complete(path, isDismissed: isDismissed && isLocked) }
    }

    /// Ends a prompt: removes the object, ends its question, and sends `Completed` to its client.
    func complete(_ path: String, isDismissed: Bool) {
        guard let prompt = prompts.removeValue(forKey: path) else { return }
        prompt.question?.end()
        let open = isDismissed ? [] : prompt.paths.filter(isOpen)
        bus.signal(path, Interfaces.prompt, "Completed", to: prompt.owner) { message in
            message.bool(isDismissed)
            message.variant("ao") { message.paths(open) }
        }
    }

    /// Completes all shown prompts. Called when the vault has been unlocked.
    func completeOpenPrompts() {
        for (path, prompt) in prompts where prompt.isRunning { complete(path, isDismissed: false) }
    }

    /// Removes the prompts of a client that left the bus, and ends their questions.
    func dropPrompts(of client: String) {
        for (path, prompt) in prompts where prompt.owner == client {
            prompts[path] = nil
            prompt.question?.end()
        }
    }
}

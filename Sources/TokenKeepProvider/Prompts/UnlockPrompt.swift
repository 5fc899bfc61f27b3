import TokenKeepCore

/// A prompt that a client got from `Unlock`.
struct UnlockPrompt {
    /// The time after which a prompt ends, in milliseconds.
    static let limit: UInt32 = 120_000
    /// The time before a prompt ends that nobody can answer: a client may watch for `Completed` only after its call.
    static let holdBack: UInt32 = 100

    let owner: String
    /// The paths to unlock, as the client gave them.
    let paths: [String]
    /// The place among the prompts that were shown; nil before `Prompt`.
    var turn: UInt64?
    /// Before this moment the client may not watch for `Completed` yet.
    var earliestEnd: Deadline?
    /// Whether the user was asked for this prompt.
    var wasAsked = false
    /// Whether a worker looks for the user.
    var isLookedAt = false
    /// Ends the question to the user; nil while none is asked.
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

    /// Ends a prompt once its client has had the time to watch for `Completed`.
    func completeSoon(_ path: String, isDismissed: Bool) {
        guard let earliest = prompts[path]?.earliestEnd else { return complete(path, isDismissed: isDismissed) }
        timers.after(earliest.remainingMilliseconds) { [self] in complete(path, isDismissed: isDismissed && isLocked) }
    }

    /// Ends a prompt: the client learns of it, and the prompt's object is gone.
    func complete(_ path: String, isDismissed: Bool) {
        guard let prompt = prompts.removeValue(forKey: path) else { return }
        prompt.question?.end()
        let open = isDismissed ? [] : prompt.paths.filter(isOpen)
        bus.signal(path, Interfaces.prompt, "Completed", to: prompt.owner) { message in
            message.bool(isDismissed)
            message.variant("ao") { message.paths(open) }
        }
    }

    /// Completes the prompts that are shown, as the vault is open now.
    func completeOpenPrompts() {
        for (path, prompt) in prompts where prompt.isRunning { complete(path, isDismissed: false) }
    }

    /// Ends the prompts of a client that left the bus.
    func dropPrompts(of client: String) {
        for (path, prompt) in prompts where prompt.owner == client {
            prompts[path] = nil
            prompt.question?.end()
        }
    }
}

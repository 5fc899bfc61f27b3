import Glibc
import TokenKeepCore

extension Provider {
    /// Asks the user for the vault's password, if the user can be asked.
    ///
    /// Only one question is shown at a time, and a correct answer completes every prompt. If the question ends without
    /// an answer, the user of the next prompt is asked. A worker looks for the user's terminal or display, if necessary
    /// among all processes.
    func ask(_ path: String, _ prompt: UnlockPrompt) {
        prompts[path]?.isLookedAt = true
        guard options.mayPrompt, let process = bus.process(of: prompt.owner) else { return ask(path, prompt, nil) }
        run(on: nil, for: prompt.owner, { CallingProgram(process) }) { [self] caller in
            guard let prompt = prompts[path] else { return askNext() }
            ask(path, prompt, caller)
        }
    }

    private func ask(_ path: String, _ prompt: UnlockPrompt, _ caller: CallingProgram?) {
        prompts[path]?.isLookedAt = false
        let name = self.caller(of: prompt.owner)
        // This prompt's user cannot be asked, so dismiss the prompt, and ask the user of the next prompt.
        guard let caller, caller.hasDisplay || caller.terminal != nil else {
            dismissSoon(path, name)
            return askNext()
        }
        guard !isAsking else { return endLater(path) }
        guard let program = pinentry(), !caller.hidesDisplay || caller.terminal != nil else {
            leaveOpen(path, name, hasDisplay: caller.hasDisplay)
            return askNext()
        }
        let question = PasswordQuestion(program: program, caller: caller, text: "Password of the vault, for \(name)")
        prompts[path]?.question = question
        prompts[path]?.wasAsked = true
        runAlone({ [store] in question.ask(store) }) { [self] outcome in
            prompts[path]?.question = nil
            ended(outcome, path, name)
        }
    }

    private var isAsking: Bool { prompts.values.contains { $0.question != nil } }

    private func ended(_ outcome: PasswordQuestion.Outcome, _ path: String, _ name: String) {
        switch outcome {
        case .unlocked:
            freshness.isSignalled = true
            return whenLooked(for: "") { [self] _ in completeSoon(path, isDismissed: isLocked) }
        case .dismissed: break
        case .failed(let error): Log.line("\(error.message), for \(name)")
        }
        completeSoon(path, isDismissed: true)
        askNext()
    }

    /// Shows the question of the longest-waiting prompt, after another prompt's question had no answer.
    private func askNext() {
        let waiting = prompts.filter { $0.value.isRunning && !$0.value.wasAsked && !$0.value.isLookedAt }
        guard !isAsking, let next = waiting.min(by: { ($0.value.turn ?? 0) < ($1.value.turn ?? 0) }) else { return }
        ask(next.key, next.value)
    }

    /// Keeps the prompt of a program with a display open instead of dismissing it, because Chromium deletes its cookies
    /// after one dismissal.
    private func leaveOpen(_ path: String, _ name: String, hasDisplay: Bool) {
        guard hasDisplay else { return dismissSoon(path, name) }
        prompts[path]?.wasAsked = true
        Log.line(
            "the vault is locked and \(name) waits for it, but pinentry is missing or has no display: run tokenkeep unlock"
        )
        notify("\(name) waits for the vault. Run: tokenkeep unlock")
        endLater(path)
    }

    private func dismissSoon(_ path: String, _ name: String) {
        prompts[path]?.wasAsked = true
        Log.line("the vault is locked and \(name) needs it: run tokenkeep unlock")
        completeSoon(path, isDismissed: true)
    }

    private func endLater(_ path: String) {
        timers.after(UnlockPrompt.limit) { [self] in complete(path, isDismissed: isLocked) }
    }

    /// The path of the program that asks the user for the password; nil if no such program is installed.
    private func pinentry() -> String? {
        let candidates =
            options.pinentry.map { [$0] } ?? ["/usr/local/bin/pinentry", "/usr/bin/pinentry", "/bin/pinentry"]
        return candidates.first { access($0, X_OK) == 0 }
    }

    /// Shows a notification on the desktop, if a notification service is running.
    private func notify(_ text: String) {
        bus.call("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "Notify") { message in
            message.string("TokenKeep")
            message.number(UInt32(0))
            message.string("dialog-password")
            message.string("The vault is locked")
            message.string(text)
            message.array("s") {}
            message.array("{sv}") {}
            message.number(Int32(-1))
        }
    }
}

import Glibc
import TokenKeepCore

extension Provider {
    /// Asks the user for the vault's password, if there is a way to ask.
    ///
    /// One question at a time: prompts that begin meanwhile end with it.
    func ask(_ path: String, _ prompt: UnlockPrompt) {
        let name = caller(of: prompt.owner)
        guard options.mayPrompt, let caller = bus.process(of: prompt.owner).flatMap(CallingProgram.init),
            caller.hasDisplay || caller.terminal != nil
        else { return dismissSoon(path, name) }
        guard !prompts.values.contains(where: { $0.question != nil }) else { return endLater(path) }
        guard let program = pinentry() else {
            guard caller.hasDisplay else { return dismissSoon(path, name) }
            // Chromium deletes its cookies after one dismissal, and waits patiently for a prompt that stays open.
            Log.line("the vault is locked and \(name) waits for it, but pinentry is missing: run tokenkeep unlock")
            notify("\(name) waits for the vault. Run: tokenkeep unlock")
            return endLater(path)
        }
        let question = PasswordQuestion(program: program, caller: caller, text: "Password of the vault, for \(name)")
        prompts[path]?.question = question
        runAlone({ [store] in question.ask(store) }) { [self] outcome in
            prompts[path]?.question = nil
            ended(outcome, path)
        }
    }

    private func ended(_ outcome: PasswordQuestion.Outcome, _ path: String) {
        switch outcome {
        case .unlocked:
            freshness.isSignalled = true
            return startLook()
        case .dismissed: break
        case .failed(let error): Log.line(error.message)
        }
        for waiting in prompts.filter({ $0.value.isRunning && $0.value.question == nil }).keys {
            complete(waiting, isDismissed: true)
        }
        complete(path, isDismissed: true)
    }

    private func dismissSoon(_ path: String, _ name: String) {
        Log.line("the vault is locked and \(name) needs it: run tokenkeep unlock")
        timers.after(UnlockPrompt.holdBack) { [self] in complete(path, isDismissed: isLocked) }
    }

    private func endLater(_ path: String) {
        timers.after(UnlockPrompt.limit) { [self] in complete(path, isDismissed: isLocked) }
    }

    /// The program that asks; nil if there is none.
    private func pinentry() -> String? {
        let candidates =
            options.pinentry.map { [$0] } ?? ["/usr/local/bin/pinentry", "/usr/bin/pinentry", "/bin/pinentry"]
        return candidates.first { access($0, X_OK) == 0 }
    }

    /// Shows a notification on the desktop, if there is a program that shows notifications.
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

/// A question to the user for the vault's password.
final class PasswordQuestion {
    /// Ends the question.
    func end() {}
}

extension Provider {
    /// Asks the user for the vault's password, if there is a way to ask.
    func ask(_ path: String, _ prompt: UnlockPrompt) {
        Log.line("the vault is locked and \(caller(of: prompt.owner)) needs it: run tokenkeep unlock")
        timers.after(UnlockPrompt.holdBack) { [self] in complete(path, isDismissed: isLocked) }
    }
}

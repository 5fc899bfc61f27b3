import TokenKeepTerminal

// Short names for the types of TokenKeepTerminal, the target that the programs share.
typealias Durations = TokenKeepTerminal.Durations
typealias ExitCodes = TokenKeepTerminal.ExitCodes
typealias HeldSignals = TokenKeepTerminal.HeldSignals
typealias HiddenInput = TokenKeepTerminal.HiddenInput
typealias HiddenWords = TokenKeepTerminal.HiddenWords
typealias PasswordLine = TokenKeepTerminal.PasswordLine
typealias PasswordSource = TokenKeepTerminal.PasswordSource
typealias ProcessStart = TokenKeepTerminal.ProcessStart
typealias SecretInput = TokenKeepTerminal.SecretInput
typealias Terminal = TokenKeepTerminal.Terminal

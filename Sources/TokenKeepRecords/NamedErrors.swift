package import TokenKeepCore

extension TokenKeepError {
    /// Adds the item's name to the error's message, unless the message already contains it.
    package func of(_ name: ItemName) -> TokenKeepError {
        let words = message.utf8
        // `String.contains` would link the standard library's regular expressions, which take 1.3 MB.
        let namesIt = words.indices.contains { words[$0...].starts(with: name.description.utf8) }
        guard !namesIt else { return inModule("vault") }
        var error = TokenKeepError(status, "\(name): \(message)", module: module ?? "vault", hint: hint)
        error.isShortage = isShortage
        return error
    }
}

import TokenKeepCore

/// The message of the error that `body` throws, with its hint: `message; hint`. Empty if it throws none.
public func errorText(_ body: () throws -> Void) -> String {
    do {
        try body()
        return ""
    } catch {
        guard let error = error as? TokenKeepError else { return "\(error)" }
        return [error.message, error.hint].compactMap { $0 }.joined(separator: "; ")
    }
}

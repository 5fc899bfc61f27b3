import Testing
import TokenKeep

/// Expects that `body` throws a `TokenKeepError` of a status, and of a message if one is given.
func expect<Value>(
    _ status: TokenKeepError.Status, _ message: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Value
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
        let thrown = error as? TokenKeepError
        #expect(thrown?.status == status, "\(error)", sourceLocation: sourceLocation)
        if let message { #expect(thrown?.message == message, sourceLocation: sourceLocation) }
    }
}

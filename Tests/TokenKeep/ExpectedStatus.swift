import Testing
import TokenKeep

/// Expects that `body` throws a `TokenKeepError` of a status.
func expect<Value>(
    _ status: TokenKeepError.Status, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Value
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? TokenKeepError)?.status == status, "\(error)", sourceLocation: sourceLocation)
    }
}

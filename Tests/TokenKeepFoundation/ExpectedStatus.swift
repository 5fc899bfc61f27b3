import Testing
import TokenKeep

/// Expects that `body` throws a `TokenKeepError` of a status.
func expect<Value>(
    _ status: TokenKeepError.Status, sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? TokenKeepError)?.status == status, "\(error)", sourceLocation: sourceLocation)
    }
}

/// The error of a test that did not get an element.
struct Missing: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

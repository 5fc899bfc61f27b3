import Foundation

/// The parts of an application that signs users in, one in each file. Usage: ApplicationExample ORIGIN
@main @MainActor
struct ApplicationExample {
    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first, let api = URL(string: origin) else {
            return print("usage: … ORIGIN")
        }
        try await keepToken()
        try await keepUser()
        try await signIn(at: api)
        try await visit(api)
        try await observe()
    }

    /// The user, as the application's server describes it.
    struct User: Codable, Sendable, Equatable { let name: String }
}

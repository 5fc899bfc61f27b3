import Foundation
import TokenKeep

// Four tasks that ask for the token at once, for each line of input. Arguments: the command that asks the server.

@Sendable func ask(_ request: TokenSession.Request) async throws -> TokenSession.Response {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[1])
    let (input, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data((request.token.utf8String ?? "").utf8))
    try input.fileHandleForWriting.close()
    let body = try output.fileHandleForReading.readToEnd() ?? Data()
    return TokenSession.Response(status: 200, body: try TokenStore.Secret(bytes: body))
}

@concurrent func token(_ session: TokenSession) async -> String {
    do {
        return try await session.token().value.utf8String ?? "?"
    } catch {
        return "\(error)"
    }
}

let store = try TokenStore(.init(stackText: "any required vault"))
var options = TokenSession.Options()
options.transport = ask
let session = try await TokenSession(store: store, service: "api.crowd.test", account: "ann", options: options)
print("ready")
fflush(nil)
while readLine() != nil {
    async let first = token(session)
    async let second = token(session)
    async let third = token(session)
    let fourth = await token(session)
    await print(first, second, third, fourth)
    fflush(nil)
}

import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import TokenKeep
import TokenKeepFoundation

/// Connections of swift-nio to a WebSocket. One to https has NIOSSL's handler in its pipeline, too.
struct Socket: Sendable {
    let host: String
    let port: Int
    let path: String

    /// The close code by which this server ends a token.
    private static let tokenIsOver: UInt16 = 4401

    private enum Upgrade: Sendable {
        case socket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>)
        case answer(NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>)
    }

    private struct Refusal: Error {
        let status: HTTPResponseStatus
    }

    /// Connects with a token, and reads texts until the connection ends.
    ///
    /// - Throws: `ConnectionEnd.refused` if the server refuses the token, or ends the token later.
    func readTexts(
        _ token: TokenSession.Token, _ read: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        switch try await connect(token).get() {
        case .answer(let channel):
            let status = try await channel.executeThenClose { inbound, _ in
                for try await case .head(let head) in inbound { return head.status }
                return .badGateway
            }
            throw status == .unauthorized ? ConnectionEnd.refused : Refusal(status: status)
        case .socket(let channel):
            try await channel.executeThenClose { inbound, outbound in
                for try await frame in inbound {
                    var data = frame.unmaskedData
                    switch frame.opcode {
                    case .text: try await read(String(buffer: data))
                    case .ping:
                        try await outbound.write(
                            WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data))
                    case .connectionClose:
                        if data.readInteger() == Socket.tokenIsOver { throw ConnectionEnd.refused }
                        return
                    default: break
                    }
                }
            }
        }
    }

    private func connect(_ token: TokenSession.Token) async throws -> EventLoopFuture<Upgrade> {
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path)
        head.headers.add(name: "Host", value: "\(host):\(port)")
        head.headers.add(name: "Authorization", value: "Bearer \(token.value.utf8String ?? "")")
        let request = head
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        return try await bootstrap.connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let upgrader = NIOTypedWebSocketClientUpgrader<Upgrade> { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        .socket(try NIOAsyncChannel(wrappingChannelSynchronously: channel))
                    }
                }
                let configuration = NIOTypedHTTPClientUpgradeConfiguration<Upgrade>(
                    upgradeRequestHead: request, upgraders: [upgrader]
                ) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        .answer(try NIOAsyncChannel(wrappingChannelSynchronously: channel))
                    }
                }
                var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
                // Else a message that arrives with the upgrade is lost.
                pipeline.leftOverBytesStrategy = .forwardBytes
                return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                    configuration: pipeline)
            }
        }
    }
}

import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A bus is used only if its other end is this user's or root's.
@Suite struct BusPeerTests {
    private static let other: UInt32 = 65534
    private static let asRoot: ConditionTrait = .enabled(if: geteuid() == 0, "only root starts another user's bus")

    private func client(_ address: String) throws -> SecretServiceModule {
        let key = try ItemVersionKey.random()
        return SecretServiceModule(
            timeoutMilliseconds: Patience.milliseconds, address: address, versionKey: { key })
    }

    private func saving(_ module: SecretServiceModule) throws -> TokenKeepError? {
        let request = try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes("s3cr3t"))
        do throws(TokenKeepError) {
            _ = try module.save(request, .patient)
            return nil
        } catch {
            return error
        }
    }

    @Test(BusPeerTests.asRoot) func nothingIsSentOverAnotherUsersBus() throws {
        let fake = try FakeService(on: PrivateBus(user: Self.other))
        let error = try #require(try saving(fake.client.module))
        #expect(error.status == .unavailable && !error.isAbsence)
        let whose = "the message bus is of user \(Self.other), neither of user \(geteuid()) nor of root"
        #expect(error.message == "\(whose): nothing is sent to it")
        #expect(try fake.calls() == [])
        #expect(throws: TokenKeepError(.unavailable, "")) { try fake.client.load("example.com", "ann") }
        #expect(try fake.calls() == [])
    }

    @Test func aBusOverTCPIsRefused() throws {
        let fake = try FakeService(on: PrivateBus(listen: "tcp:host=127.0.0.1,port=0"))
        let error = try #require(try saving(fake.client.module))
        #expect(error.status == .unavailable && !error.isAbsence)
        #expect(error.message.contains("does not tell whose it is"), "\(error.message)")
        #expect(try fake.calls() == [])
    }

    @Test(BusPeerTests.asRoot) func theFirstTrustedBusOfAnAddressIsUsed() throws {
        let foreign = try FakeService(on: PrivateBus(user: Self.other))
        let own = try FakeService()
        let address = "unix:path=/nowhere;\(foreign.bus.address);\(own.bus.address)"
        #expect(try saving(client(address)) == nil)
        #expect(try foreign.calls() == [])
        #expect(try own.calls() != [])
        let withoutOwn = try saving(client("\(foreign.bus.address);unix:path=/nowhere"))
        #expect(withoutOwn?.isAbsence == false)
        #expect(try saving(client("unix:path=/nowhere;unix:path=/nowhere-else"))?.isAbsence == true)
    }

    /// The kernel notes who listened: root's bus is anybody's, and a user's is his alone.
    @Test func onlyTheUserHimselfAndRootAreTrusted() throws {
        var sockets: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
        defer { for socket in sockets { close(socket) } }
        try BusPeer.check(sockets[0])
        let isRoot = geteuid() == 0
        #expect(status { try BusPeer.check(sockets[0], user: 12345) } == (isRoot ? .ok : .unavailable))
        #expect(throws: TokenKeepError(.unavailable, "")) { try BusPeer.check(-1) }
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try BusPeer.check(file) }
    }
}

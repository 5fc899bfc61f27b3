import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// What a process that lives long must not lose: each needs a process of its own to be measured.
@Suite struct LeakTests {
    /// AddressSanitizer keeps what was freed, to notice its use: nothing is measured under it.
    @Test(.enabled(if: dlsym(nil, "__asan_init") == nil)) func answersAreFreed() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            try client.save("example.com", "ann", String(repeating: "x", count: 50_000))
            func load(times: Int) throws {
                for _ in 0..<times { #expect(try client.item("example.com", "ann").secret.count == 50_000) }
            }
            try load(times: 50)
            let before = residentKilobytes()
            try load(times: 300)
            let growth = residentKilobytes() - before
            #expect(before > 0 && growth < 4096, "300 answers of 50 kB left \(growth) kB")
        }
    }

    @Test func closedConnectionsLeaveNoDescriptors() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            func use() throws {
                let client = try ServiceClient(keyring.bus)
                #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
            }
            try use()
            let before = openDescriptors()
            for _ in 0..<30 { try use() }
            try #require(before > 3)
            // A thread of GLib or of the harness may have taken one for itself meanwhile; a leak is three each time.
            #expect(openDescriptors() - before < 10)
        }
    }

    /// The service, or the bus and with it the service, ends and another comes in its place, over and over.
    @Test(arguments: [false, true]) func whatComesAndGoesLeavesNoDescriptors(isBus: Bool) async {
        await #expect(processExitsWith: .success) { [isBus] in
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            try client.save("example.com", "ann", "token")
            func comeAndGo() throws {
                if isBus {
                    try keyring.bus.restart()
                    #expect([.unavailable, .timedOut].contains(status { _ = try client.load("example.com", "ann") }))
                }
                try keyring.restart()
                try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
            }
            for _ in 0..<2 { try comeAndGo() }
            let before = descriptorKinds()
            for _ in 0..<15 { try comeAndGo() }
            try #require(before.keys.contains("socket") && before.keys.contains("anon_inode:[eventfd]"))
            // The harness keeps some pipes of its processes; neither this library nor GLib makes any.
            let growth = descriptorKinds().merging(before) { $0 - $1 }.filter { $0.key != "pipe" }
            #expect(growth.values.allSatisfy { $0 < 6 }, "15 ends left \(growth)")
        }
    }

    /// However few descriptors are left, the program goes on, and so does the module once there are some again.
    @Test(arguments: [false, true]) func fewDescriptorsEndNothing(isConnected: Bool) async {
        await #expect(processExitsWith: .success) { [isConnected] in
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            if isConnected { #expect(status { _ = try client.load("example.com", "ann") } == .notFound) }
            // The process inherits descriptors of tests beside this test.
            let room = rlim_t(highestDescriptor() + 64)
            var limit = rlimit(rlim_cur: room, rlim_max: room)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [Int32] = []
            while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
            try #require(taken.count > 20)
            var outcomes: [Status] = []
            for _ in 0...20 {
                do throws(TokenKeepError) {
                    _ = try client.module.load(
                        ItemName(namespace: "", service: "example.com", account: "ann"), client.call())
                } catch {
                    outcomes.append(error.status)
                    if error.status == .unavailable { #expect(!error.isAbsence) }
                }
                taken.popLast().map { _ = close($0) }
            }
            // A connection that stands needs no further descriptor.
            #expect(outcomes.first == (isConnected ? .notFound : .unavailable), "\(outcomes)")
            #expect(outcomes.last == .notFound, "\(outcomes)")
        }
    }
}

private func openDescriptors() -> Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count
}

private func highestDescriptor() -> Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int($0) }.max() ?? 0
}

/// What the open descriptors are, and how many of each.
private func descriptorKinds() -> [String: Int] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    return Dictionary(
        targets.map { ($0.hasPrefix("anon_inode") ? $0 : String($0.prefix { $0 != ":" }), 1) }, uniquingKeysWith: +)
}

/// How much of this process is in memory; 0 where that is not known.
private func residentKilobytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024 : 0
}

import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// What a process that lives long must not lose: each needs a process of its own to be measured.
@Suite struct LeakTests {
    @Test func answersAreFreed() async {
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
}

/// How much of this process is in memory; 0 where that is not known.
private func residentKilobytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024 : 0
}

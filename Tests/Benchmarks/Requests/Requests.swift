import Foundation
import FoundationNetworking
import Glibc
import TokenKeep
import TokenKeepFoundation

/// Requests by URLSession and by SessionClient.
///
/// Usage: requests serve | requests time PORT CALLS | requests memory PORT bare|client COUNT
@main
struct Requests {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "serve" { Server().run() }
        guard arguments.count >= 3, let count = Int(arguments.last ?? "") else { exit(2) }
        let requests = try await Requests(port: arguments[2], count: count)
        switch arguments.first {
        case "time": try await requests.time()
        case "memory": try await requests.memory(isBare: arguments[3] == "bare")
        default: exit(2)
        }
    }

    let origin: String
    let count: Int
    let urlSession: URLSession
    let client: SessionClient

    init(port: String, count: Int) async throws {
        var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        origin = "http://127.0.0.1:\(port)"
        self.count = count
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 1_100
        urlSession = URLSession(configuration: configuration)
        let store = try TokenStore(TokenStore.Options(stackText: "any required vault"))
        let session = try await TokenSession(store: store, service: "api.example.com", account: "ann")
        let tokens = #"{"access_token":"\#(String(repeating: "0", count: 800))","expires_in":86400}"#
        try await session.begin(.user, response: TokenStore.Secret(tokens))
        client = SessionClient(session: session, urlSession: urlSession)
        try client.allow(origin: origin)
    }

    func bare(_ path: String) async throws {
        guard let url = URL(string: origin + path) else { exit(2) }
        var request = URLRequest(url: url)
        request.setValue("Bearer " + String(repeating: "0", count: 800), forHTTPHeaderField: "Authorization")
        _ = try await urlSession.data(for: request)
    }

    func byClient(_ path: String) async throws {
        guard let url = URL(string: origin + path) else { exit(2) }
        _ = try await client.data(for: URLRequest(url: url))
    }

    /// Calls in turns, so that both meet the same machine.
    func time() async throws {
        var times: (bare: [Cost], client: [Cost]) = ([], [])
        for call in 0..<count + 50 {
            let bareTime = try await cost { try await bare("/") }
            let clientTime = try await cost { try await byClient("/") }
            // The first calls connect.
            guard call >= 50 else { continue }
            times.bare.append(bareTime)
            times.client.append(clientTime)
        }
        for (name, times) in [("bare", times.bare), ("client", times.client)] {
            print(name, count, median(times.map(\.elapsed)))
            print("\(name)-processor", count, median(times.map(\.processor)))
        }
    }

    /// Microseconds of a call: by the clock, and of the processors.
    struct Cost {
        let elapsed: Double
        let processor: Double
    }

    /// The resident memory that each request in flight takes.
    func memory(isBare: Bool) async throws {
        try await isBare ? bare("/") : byClient("/")
        let before = resident()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await isBare ? bare("/hold") : byClient("/hold") } }
            let control = URLSession(configuration: .ephemeral)
            for path in ["/held/\(count)", "/release"] {
                guard let url = URL(string: origin + path) else { exit(2) }
                _ = try await control.data(for: URLRequest(url: url))
                if path == "/release" { break }
                print(isBare ? "bare" : "client", count, Double(resident() - before) / Double(count))
            }
            try await group.waitForAll()
        }
    }

    private func cost(_ body: () async throws -> Void) async throws -> Cost {
        let (start, processor) = (ContinuousClock.now, processorTime())
        try await body()
        return Cost(
            elapsed: (ContinuousClock.now - start) / .microseconds(1), processor: processorTime() - processor)
    }

    /// Microseconds that the processors worked for this process.
    private func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }

    /// KiB of memory of this process that are resident.
    private func resident() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}

import Glibc
import TokenKeepCore

/// Runs a module's program for each call, or keeps the program running if its answer requests that.
final class ProgramTransport: PluginTransport, @unchecked Sendable {
    private static let patienceMilliseconds: UInt32 = 1000
    private let file: ModuleFile
    private let options: PluginOptions
    private let variables: [String]
    private var kept: ProgramProcess?
    private(set) var capabilities: PluginCapabilities = []
    private var hasReported = false

    init(_ file: ModuleFile, _ options: PluginOptions) throws(TokenKeepError) {
        try file.check()  // checked again at each start
        let (variables, arguments) = try ProgramEnvironment.divide(options.arguments)
        self.file = file
        self.variables = variables
        self.options = PluginOptions(
            name: options.name, arguments: arguments, repeatsWords: options.repeatsWords, changed: options.changed)
    }

    func keepsMetadata(_ call: PluginCall) throws(TokenKeepError) -> Bool {
        if !hasReported { _ = try report(call) }
        return capabilities.contains(.keepsMetadata)
    }

    func load(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) -> AnsweredItem {
        let items = try ask("load", .item, call) { (request) throws(TokenKeepError) in try request.add(name) }
        guard let item = items.first else { throw .foreign("no item") }
        return item
    }

    func save(_ item: TokenItem, _ call: PluginCall) throws(TokenKeepError) {
        _ = try ask("save", .nothing, call) { (request) throws(TokenKeepError) in try request.add(item) }
    }

    func clear(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) {
        _ = try ask("clear", .removal, call) { (request) throws(TokenKeepError) in try request.add(name) }
    }

    func list(namespace: String, service: String?, _ call: PluginCall) throws(TokenKeepError) -> [AnsweredItem] {
        try ask("list", .list, call) { (request) throws(TokenKeepError) in
            try request.add(namespace: namespace, service: service)
        }
    }

    func prepare(_ call: PluginCall) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            _ = try ask("prepare", .nothing, call) { (_) throws(TokenKeepError) in }
        } catch {
            guard error.status == .unsupported else { throw error }
        }
    }

    func report(_ call: PluginCall) throws(TokenKeepError) -> [String] {
        do throws(TokenKeepError) {
            _ = try ask("report", .nothing, call) { (_) throws(TokenKeepError) in }
        } catch {
            guard error.status == .unsupported else { throw error }
        }
        hasReported = true
        return call.remarks
    }

    /// Ends a program that was kept running.
    ///
    /// The program is a child of this process, so a host that waits for all of its children would otherwise wait for
    /// the program as well.
    func rest() {
        kept?.end(patience: 200)
        kept = nil
    }

    func close() { rest() }

    private func ask(
        _ operation: String, _ expected: PluginCall.Expected, _ call: PluginCall,
        _ add: (ProgramRequest) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> [AnsweredItem] {
        try call.begin(expected)
        let request = try ProgramRequest(operation, options, call)
        try add(request)
        try request.end()
        let before = kept
        kept = nil
        // Reuse the program only if it has sent no unrequested output, which would count as the answer to this request.
        if let process = before, process.isWaiting {
            do throws(TokenKeepError) {
                return try ask(process, request, expected, call)
            } catch {
                // The program ended without an answer after the last call. Repeating the request is safe, because every
                // operation may run twice.
                guard error.status == .unavailable, process.saidNothing else { throw error }
            }
        }
        let process = try ProgramProcess(file, variables: variables, showsErrors: showsErrors)
        return try ask(process, request, expected, call)
    }

    private func ask(
        _ process: ProgramProcess, _ request: ProgramRequest, _ expected: PluginCall.Expected, _ call: PluginCall
    ) throws(TokenKeepError) -> [AnsweredItem] {
        try call.begin(expected)
        let answer = ProgramAnswer(call, expected)
        // If this call throws, the process is released and its `deinit` kills the program, because nothing else holds
        // the process.
        try process.exchange(request, answer, until: call.deadline)
        capabilities.formUnion(answer.capabilities)
        if !answer.keepsRunning {
            // The answer has arrived. Wait at most half of the remaining time for the program's end, so that the caller
            // gets the answer in time.
            process.end(patience: min(ProgramTransport.patienceMilliseconds, call.deadline.remainingMilliseconds / 2))
        }
        do throws(TokenKeepError) {
            let items = try answer.items()
            keep(process, answer)
            return items
        } catch {
            // A failure that the program reported is a valid answer, so keep the program. After an invalid answer, do
            // not keep it, because its further output could be read as the answer to the next request.
            if error.status != .corrupt { keep(process, answer) }
            throw error
        }
    }

    private func keep(_ process: ProgramProcess, _ answer: ProgramAnswer) {
        if answer.keepsRunning, process.tookRequest { kept = process }
    }

    /// Whether the program's standard error is shown. Only during a check, because a program can put a secret into its
    /// messages.
    private var showsErrors: Bool {
        guard options.repeatsWords, !Privileges.areRaised, let value = getenv("TOKENKEEP_DEBUG") else { return false }
        return strcmp(value, "1") == 0
    }
}

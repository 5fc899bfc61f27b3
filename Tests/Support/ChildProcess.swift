import Foundation

/// A program that runs for a test and is killed with it.
public final class ChildProcess: @unchecked Sendable {
    private let process = Process()
    private let output = Pipe()

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - environment: all of it; nothing is inherited but PATH.
    ///   - input: what it reads from its standard input.
    ///   - user: as whom it runs; nil for this process's user.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], input: String = "",
        user: UInt32? = nil
    ) throws {
        process.executableURL = URL(fileURLWithPath: user == nil ? program : "/usr/bin/setpriv")
        let drop = user.map { ["--reuid=\($0)", "--regid=\($0)", "--clear-groups", program] } ?? []
        process.arguments = drop + arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]) { given, _ in given }
        let standardInput = Pipe()
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
    }

    deinit { kill() }

    /// Its process number.
    public var identifier: Int32 { process.processIdentifier }

    /// The first line it prints, without the line's end.
    public func firstLine() throws -> String {
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte.first != 0x0A, !byte.isEmpty {
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Waits for the process's end. Returns its whole output and its exit status.
    public func finish() throws -> (output: String, status: Int32) {
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        waitForEnd()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus)
    }

    /// Sends a signal to the process.
    public func signal(_ number: Int32) { Foundation.kill(process.processIdentifier, number) }

    /// Stops it and waits until each of its threads has stopped: until then one of them may still answer.
    public func stop() {
        signal(SIGSTOP)
        var information = siginfo_t()
        _ = waitid(P_PID, id_t(process.processIdentifier), &information, WSTOPPED | WNOWAIT)
    }

    /// Kills it and waits for its end.
    public func kill() {
        guard process.isRunning else { return }
        signal(SIGKILL)
        waitForEnd()
    }

    /// Foundation's own function waits by its run loop, which is slow while the test clock is.
    private func waitForEnd() {
        while !Patience.wait(until: { !process.isRunning }) {}
    }

    /// Runs a program to its end and returns what it printed.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String], input: String = ""
    ) throws -> (output: String, status: Int32) {
        try ChildProcess(program, arguments, environment: environment, input: input).finish()
    }
}

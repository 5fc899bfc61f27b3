import Foundation

/// A software TPM with a state and a socket of its own: a machine of a test.
public final class SoftwareTPM: @unchecked Sendable {
    /// Whether tests can have software TPMs: as root, with swtpm, tpm2-tools and the headers of tpm2-tss.
    public static let isInstalled =
        geteuid() == 0 && ["swtpm", "tpm2_clear"].allSatisfy { access("/usr/bin/\($0)", X_OK) == 0 } && program != nil

    /// The program tokenkeep-tpm2, built for the tests; nil where it cannot be built.
    public static let program: String? = build()
    private static let built = TemporaryDirectory()

    private let directory = TemporaryDirectory()
    private var process: ChildProcess?

    /// Starts a TPM that nobody has used.
    public init() throws { try start() }

    /// Starts it with its state of before.
    public func start() throws {
        for name in ["tpm", "tpm.ctrl"] { unlink("\(directory.path)/\(name)") }
        process = try ChildProcess(
            "/usr/bin/swtpm",
            [
                "socket", "--tpm2", "--tpmstate", "dir=\(directory.path)", "--server",
                "type=unixio,path=\(directory.path)/tpm", "--ctrl", "type=unixio,path=\(directory.path)/tpm.ctrl",
                "--flags", "not-need-init,startup-clear",
            ], environment: [:])
        let isThere = Patience.wait {
            ["tpm", "tpm.ctrl"].allSatisfy { access("\(directory.path)/\($0)", F_OK) == 0 }
        }
        guard isThere else { throw HarnessFailure(message: "swtpm does not listen") }
    }

    /// Ends it; its state stays.
    public func kill() { process?.kill() }

    /// Its TCTI.
    public var configuration: String { "swtpm:path=\(directory.path)/tpm" }

    /// Clears it: another storage primary takes the place of its own.
    public func clear() throws {
        let outcome = try ChildProcess.run(
            "/usr/bin/tpm2_clear", [], environment: ["TPM2TOOLS_TCTI": configuration])
        guard outcome.status == 0 else { throw HarnessFailure(message: "tpm2_clear") }
    }

    private static func build() -> String? {
        let libraries = ["tss2-esys", "tss2-mu", "tss2-tctildr"]
        let sources = "\(BuiltModule.root)/Sources/tpm2"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: sources),
            let flags = try? ChildProcess.run("/usr/bin/pkg-config", ["--libs"] + libraries, environment: [:]),
            flags.status == 0
        else { return nil }
        let path = built.path + "/tokenkeep-tpm2"
        let files = names.filter { $0.hasSuffix(".c") }.map { "\(sources)/\($0)" }
        let words = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let arguments = ["-std=gnu11", "-O1"] + files + words + ["-o", path]
        return (try? ChildProcess.run("/usr/bin/cc", arguments, environment: [:]))?.status == 0 ? path : nil
    }
}

/// Root's helper of a software TPM.
public final class TPMHelper: Sendable {
    /// The path of its socket.
    public let path: String
    private let directory = TemporaryDirectory()
    private let process: ChildProcess

    /// Starts it.
    public init(_ tpm: SoftwareTPM) throws {
        let path = directory.path + "/tpm2"
        self.path = path
        guard let program = SoftwareTPM.program else { throw HarnessFailure(message: "no tokenkeep-tpm2") }
        process = try ChildProcess(
            program, ["--socket", path, "--tcti", tpm.configuration], environment: [:])
        let listens = Patience.wait {
            guard let connection = UnixSocket.connect(to: path) else { return false }
            close(connection)
            return true
        }
        guard listens else { throw HarnessFailure(message: "the helper does not listen") }
    }

    /// Kills it.
    public func kill() { process.kill() }
}

import CSystemdBus
import Glibc
import TokenKeepCore

/// A child process that ends when this process ends.
struct Companion {
    let process: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - variables: environment variables to set, in addition to the present ones.
    ///   - deathSignal: the signal that the program gets when this process ends, also by kill -9.
    /// - Throws: a ``CompanionFailure`` with the errno if the program cannot be started.
    init(_ arguments: [String], _ variables: [String: String] = [:], deathSignal: Int32 = SIGKILL)
        throws(CompanionFailure)
    {
        var all: [String] = []
        var place = environ
        while let entry = place.pointee {
            let text = String(cString: entry)
            let name = String(text.prefix { $0 != "=" })
            if variables[name] == nil { all.append(text) }
            place += 1
        }
        all += variables.map { "\($0.key)=\($0.value)" }
        let (words, settings) = (arguments.map { strdup($0) } + [nil], all.map { strdup($0) } + [nil])
        defer { for copy in words + settings { free(copy) } }
        var started: pid_t = 0
        let error = tokenkeep_companion_start(arguments.first ?? "", words, settings, deathSignal, &started)
        guard error == 0 else { throw CompanionFailure(program: arguments.first ?? "", code: error) }
        process = started
    }

    /// Waits until the program ends. Returns its exit code as a shell reports it: 128 + N after signal N.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return tokenkeep_exit_code(status)
    }

    /// Sends SIGTERM to the program, and waits until the program has ended.
    func end() {
        kill(process, SIGTERM)
        _ = wait()
    }
}

/// The reason why a program was not started.
struct CompanionFailure: Error {
    let program: String
    let code: Int32

    var error: TokenKeepError {
        TokenKeepError(
            code == ENOENT ? .notFound : .io, "\(program) cannot be run: \(Bus.describe(code))")
    }
}

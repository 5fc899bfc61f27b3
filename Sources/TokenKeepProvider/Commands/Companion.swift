import CSystemdBus
import Glibc
import TokenKeepCore

/// A program that this program starts, and that ends with it.
struct Companion {
    let process: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - variables: variables of the environment that are set, in addition to the present ones.
    ///   - deathSignal: the signal that the program gets when this process ends, also by kill -9.
    /// - Throws: ``Status/unavailable`` if the program cannot be started; the errno is in `failure`.
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

    /// Waits for the program's end. Returns its exit code, as a shell has it.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return tokenkeep_exit_code(status)
    }

    /// Ends the program and waits for its end.
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

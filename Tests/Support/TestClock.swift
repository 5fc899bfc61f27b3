import Foundation

/// The clock of the programs under test, this process included (`Tests/Support/Clock`). `make test` starts the tests with it.
///
/// Whoever moves the clock moves the deadlines of all tests of the process. So a suite that moves the clock has a name that
/// ends in `MovedClockTests`, and runs alone.
public enum TestClock {
    /// Sets the clock forward.
    public static func advance(seconds: Double) throws { try run("advance", String(seconds)) }

    /// Sets the wall clock that the programs read, as so many seconds ahead of the real one.
    public static func setWall(seconds: Double) throws { try run("wall", String(seconds)) }

    /// Waits until a thread of this process waits for a moment, and sets the clock to the earliest such moment.
    public static func passDeadline() throws { try run("pass", String(getpid())) }

    private static func run(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["test-clock"] + arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Missing() }
    }

    /// The tests were started without the clock.
    private struct Missing: Error, CustomStringConvertible {
        let description =
            "there is no test clock: start the tests by `make test-swift`, or by Tests/Support/Clock/run.sh"
    }
}

import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// What needs a process of its own.
@Suite struct ProcessTests {
    @Test func nothingIsLoadedBeforeFirstUse() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            for library in ["libsecret", "libglib", "libgio"] { #expect(!isMapped(library), "\(library)") }
            #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
            #expect(isMapped("libsecret") && isMapped("libglib"))
        }
    }

    @Test func aChildAfterUseIsRefused() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            try client.save("example.com", "ann", "token")
            let outcome = inChild {
                let patience = Deadline.patient
                guard status({ _ = try client.load("example.com", "ann") }) == .unavailable else { return 1 }
                guard !client.module.mayAnswer else { return 6 }
                guard status({ try client.save("example.com", "ann", "x") }) == .unavailable else { return 2 }
                guard let fresh = try? ServiceClient(keyring.bus) else { return 3 }
                guard status({ _ = try fresh.list() }) == .unavailable else { return 4 }
                return patience.hasPassed ? 5 : 0
            }
            #expect(outcome == 0)
            #expect(try client.load("example.com", "ann") == "token", "the parent goes on")
        }
    }

    /// ThreadSanitizer ends a forked child that starts a thread.
    @Test(.enabled(if: dlsym(nil, "__tsan_init") == nil)) func aChildBeforeUseWorks() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            let outcome = inChild {
                status { try client.save("example.com", "ann", "of the child") } == .ok ? 0 : 1
            }
            #expect(outcome == 0)
            #expect(try client.load("example.com", "ann") == "of the child")
        }
    }

    @Test func noBusIsAnAbsence() async {
        await #expect(processExitsWith: .success) {
            for address in [nil, "autolaunch:", "unix:path=/nonexistent/bus", "nonsense"] {
                unsetenv("DBUS_SESSION_BUS_ADDRESS")
                unsetenv("XDG_RUNTIME_DIR")
                if let address { setenv("DBUS_SESSION_BUS_ADDRESS", address, 1) }
                let module = SecretServiceModule() { () throws(TokenKeepError) in try .random() }
                do throws(TokenKeepError) {
                    _ = try module.list(namespace: "", service: nil, .patient)
                    Issue.record("listed without a bus")
                } catch {
                    #expect(error.status == .unavailable && error.isAbsence)
                    #expect(error.module == "secret-service")
                }
            }
        }
    }

    @Test func noBusLoadsNothing() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            unsetenv("DBUS_SESSION_BUS_ADDRESS")
            for runtime in [nil, directory.path] {
                unsetenv("XDG_RUNTIME_DIR")
                if let runtime { setenv("XDG_RUNTIME_DIR", runtime, 1) }
                let module = SecretServiceModule() { () throws(TokenKeepError) in try .random() }
                let problem = module.report(.patient).problem
                #expect(problem?.isAbsence == true)
            }
            for library in ["libsecret", "libglib", "libgio"] { #expect(!isMapped(library), "\(library)") }
            #expect(ForkGuard.allows && inChild { ForkGuard.allows ? 0 : 1 } == 0, "nothing was used before fork")
        }
    }

    @Test func addressesAreEscaped() {
        #expect(BusAddress.escaped("/run/user/1000/bus") == "/run/user/1000/bus")
        #expect(BusAddress.escaped("/a b,c;d=%\t/ü") == "/a%20b%2cc%3bd%3d%25%09/%c3%bc")
    }

    @Test func onlySocketsAreKeptOfAnAddress() {
        #expect(BusAddress.sockets(of: "unix:path=/a") == "unix:path=/a")
        #expect(
            BusAddress.sockets(of: "autolaunch:;unix:path=/a;unixexec:path=/bin/x;tcp:host=h;launchd:env=X")
                == "unix:path=/a;tcp:host=h")
        for address in ["autolaunch:", "unixexec:path=/bin/x", ";launchd:env=X;", "nonce-tcp:host=h", ""] {
            #expect(BusAddress.sockets(of: address) == nil, "\(address)")
        }
    }

    @Test func aBusThatRefusesIsNoAbsence() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let path = directory.path + "/bus"
            // Whatever connects finds its end at once: no authentication succeeds.
            let program = """
                import socket, sys
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(sys.argv[1])
                listener.listen()
                print("ready", flush=True)
                while True: listener.accept()[0].close()
                """
            let listener = try ChildProcess("/usr/bin/python3", ["-c", program, path], environment: [:])
            try #require(listener.firstLine() == "ready")
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=" + path, 1)
            let module = SecretServiceModule() { () throws(TokenKeepError) in try .random() }
            let problem = module.report(.patient).problem
            #expect(problem?.status == .unavailable && problem?.isAbsence == false)
            listener.kill()
            let later = module.report(.patient).problem
            #expect(later?.status == .unavailable && later?.isAbsence == true, "nothing listens any more")
        }
    }

    @Test func theHandlerOfSIGPIPEIsKept() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            signal(SIGPIPE) { _ in }
            var before = sigaction()
            sigaction(SIGPIPE, nil, &before)
            #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
            var after = sigaction()
            sigaction(SIGPIPE, nil, &after)
            let handlers = [before, after].map { unsafeBitCast($0.__sigaction_handler.sa_handler, to: Int.self) }
            #expect(handlers[0] == handlers[1] && handlers[0] > 1)
        }
    }

    @Test func theServiceGoesOnWithoutTheSignal() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            let client = try ServiceClient(keyring.bus)
            signal(SIGPIPE, SIG_DFL)
            try client.save("example.com", "ann", "token")
            keyring.bus.daemon.kill()
            #expect(status { _ = try client.load("example.com", "ann") } == .unavailable)
            #expect(status { try client.save("example.com", "ann", "other") } == .unavailable)
        }
    }

    @Test func theRuntimeDirectoryHasTheBus() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            unsetenv("DBUS_SESSION_BUS_ADDRESS")
            setenv("XDG_RUNTIME_DIR", keyring.bus.directory.path, 1)
            let module = SecretServiceModule() { () throws(TokenKeepError) in try .random() }
            #expect(module.report(.patient).problem == nil)
        }
    }

    @Test func noServiceIsAnAbsence() throws {
        let bus = try PrivateBus()
        let client = try ServiceClient(bus)
        let problem = try #require(client.module.report(client.call()).problem)
        #expect(problem.status == .unavailable && problem.isAbsence)
    }

    /// A host with connections of its own keeps them: ours is private.
    @Test func endsWithTheModule() throws {
        let keyring = try PrivateKeyring()
        func connections() throws -> Int {
            let listing = try ChildProcess.run(
                "/usr/bin/gdbus",
                [
                    "call", "--session", "-d", "org.freedesktop.DBus", "-o", "/org/freedesktop/DBus", "-m",
                    "org.freedesktop.DBus.ListNames",
                ], environment: keyring.bus.environment)
            return listing.output.components(separatedBy: "':").count - 1
        }
        let before = try connections()
        do {
            let client = try ServiceClient(keyring.bus)
            try client.save("example.com", "ann", "token")
            #expect(try connections() == before + 1)
        }
        try waitUntil { (try? connections()) == before }
    }

}

/// Whether a library is in this process's memory.
private func isMapped(_ library: String) -> Bool {
    let maps = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()
    return String(decoding: maps ?? Data(), as: UTF8.self).contains(library)
}

/// Runs `body` in a forked child and returns what it returned.
private func inChild(_ body: () -> Int32) -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    guard let symbol = dlsym(nil, "fork") else { return -1 }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 { _exit(body()) }
    var outcome: Int32 = -1
    waitpid(child, &outcome, 0)
    return outcome >> 8
}

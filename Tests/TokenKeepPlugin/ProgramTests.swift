import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepPlugin

/// Modules as programs: the lines, the environment, the deadline, and what a wrong answer comes to.
@Suite struct ProgramTests {
    let directory = TemporaryDirectory()
    private var call: CallContext { .patient }
    static let readRequest = "while IFS= read -r line && [ -n \"$line\" ]; do :; done\n"

    /// A module whose program is a shell script.
    func module(
        _ script: String, _ arguments: [String] = [], shebang: String = "#!/bin/sh\n", idle: UInt32 = 5000
    ) -> PluginModule {
        directory.write(Array((shebang + script).utf8), to: "module", mode: 0o700)
        var setting = PluginModule.Setting(file: ModuleFile(path: directory.path + "/module"))
        setting.arguments = arguments
        setting.timeoutMilliseconds = Patience.milliseconds
        setting.idleMilliseconds = idle
        let key = Result { try ItemVersionKey.random() }
        return PluginModule(setting) { () throws(TokenKeepError) in
            do { return try key.get() } catch { throw TokenKeepError(.internal, "no key") }
        }
    }

    /// A module that answers every request with these lines.
    private func answering(_ lines: String) -> PluginModule {
        module(Self.readRequest + "cat <<'END'\n" + lines + "END\n")
    }

    func name() throws -> ItemName { try ItemName(service: "example.com", account: "ann") }

    func failure(
        _ module: PluginModule, milliseconds: UInt32 = Patience.milliseconds
    ) throws -> TokenKeepError? {
        do throws(TokenKeepError) {
            let call = CallContext(deadline: Deadline(milliseconds: milliseconds))
            _ = try module.load(ItemName(service: "example.com", account: "ann"), call)
            return nil
        } catch { return error }
    }

    /// Expects that all programs that had this pipe open for writing have ended.
    func expectNoWriter(of pipe: Int32) {
        var wait = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wait, 1, Int32(Patience.milliseconds)) == 1)
        #expect(Int32(wait.revents) & POLLHUP != 0)
    }

    private func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    @Test func whatItAnswersIsLoaded() throws {
        let item = try answering(
            """
            tokenkeep=1
            status=ok
            secret+=\(encoded("one "))
            secret+=\(encoded("two"))
            label=\(encoded("läbel"))
            accessibility=1
            expires_at=2000000000
            attribute.client=\(encoded("x"))
            later=whatever


            """
        ).load(name(), call)
        #expect(item.secret.utf8String == "one two")
        #expect(item.details.label == "läbel")
        #expect(item.details.accessLevel == .whenUnlocked)
        #expect(item.details.expiresAt == UnixTime(2_000_000_000))
        #expect(item.details.attributes["client"] == "x")
        #expect(item.details.module == "module")
    }

    @Test func theRequestIsAsDocumented() throws {
        let log = directory.path + "/log"
        let module = module(
            """
            while IFS= read -r line && [ -n "$line" ]; do echo "$line" >>'\(log)'; done
            case $(sed -n 's/^operation=//p' '\(log)' | tail -1) in
            load) printf 'tokenkeep=1\\nstatus=not_found\\n\\n' ;;
            report) printf 'tokenkeep=1\\nstatus=ok\\ncapability=keeps-metadata\\n\\n' ;;
            *) printf 'tokenkeep=1\\nstatus=ok\\n\\n' ;;
            esac
            """, ["prefix=a b"])
        let request = try SaveRequest(
            name: name(), secret: SecretBytes("s3cr3t"), accessLevel: .whenUnlocked, label: "l",
            attributes: ItemAttributes([("client", "x")]), expiresAt: UnixTime(2_000_000_000))
        _ = try module.save(request, call)
        let lines = String(decoding: directory.read("log") ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        let saved = lines.drop { $0 != "operation=save" }.filter {
            !$0.hasPrefix("timeout_ms=") && !$0.contains("ed_at=")
        }
        #expect(lines.first == "tokenkeep=1")
        #expect(lines.dropFirst().first == "operation=load")
        #expect(
            Array(saved) == [
                "operation=save", "prompt=no", "argument=\(encoded("prefix=a b"))", "namespace=",
                "service=\(encoded("example.com"))", "account=\(encoded("ann"))", "label=\(encoded("l"))",
                "accessibility=1", "flags=0", "expires_at=2000000000", "attribute.client=\(encoded("x"))",
                "secret+=\(encoded("s3cr3t"))",
            ])
    }

    @Test func theLargestSecretGoesBothWays() throws {
        let module = module(
            """
            : >'\(directory.path)/new'
            operation=
            while IFS= read -r line && [ -n "$line" ]; do
                [ ${#line} -le 65535 ] || exit 9
                case $line in
                operation=*) operation=${line#*=} ;;
                secret+=*) echo "$line" >>'\(directory.path)/new' ;;
                esac
            done
            if [ $operation = save ]; then mv '\(directory.path)/new' '\(directory.path)/kept'; fi
            if [ $operation = load ] && [ ! -e '\(directory.path)/kept' ]; then status=not_found; else status=ok; fi
            printf 'tokenkeep=1\\nstatus=%s\\n' $status
            if [ $operation = load ] && [ $status = ok ]; then cat '\(directory.path)/kept'; fi
            echo
            """)
        let secret = (0..<Limits.secret).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
        _ = try module.save(SaveRequest(name: name(), secret: SecretBytes(bytes: secret)), call)
        #expect(try module.load(name(), call).secret.withUnsafeBytes { Array($0) } == secret)
    }

    @Test(arguments: [
        "",  // nothing but the empty line
        "hello\n", "tokenkeep=2\nstatus=ok\n\n", "status=ok\n\n", "tokenkeep=1\n\n", "tokenkeep=1\nstatus=ok\n\n",
        "tokenkeep=1\nstatus=fine\n\n", "tokenkeep=1\nstatus=conflict\n\n", "tokenkeep=1\nstatus=ok\nsecret+=!!\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nlabel=/w==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nlabel=CgpYCg==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nflags=-1\n\n", "tokenkeep=1\nstatus=ok\nsecret+=eA==\nexpires_at=x\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nattribute.UP=eA==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret=eA==\n\n", "tokenkeep=1\nstatus=not_found\nstatus=ok\nsecret+=eA==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nlabel=eA==\nlabel=eQ==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nattribute.a=eA==\nattribute.a=eA==\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\ncapability=Not a word\n\n",
        "tokenkeep=1\nstatus=ok\nsecret+=eA==\nservice=eA==\n\n", "tokenkeep=1\nstatus=ok\nsecret+=eA==\n\nmore\n",
        "tokenkeep=1\nstatus=ok\nitem=\nsecret+=eA==\nitem=\nsecret+=eA==\n\n",
    ])
    func aWrongAnswerIsCorrupt(lines: String) throws {
        let error = try #require(try failure(answering(lines.isEmpty ? "\n" : lines)))
        #expect(error.status == .corrupt, "\(error)")
    }

    @Test func aListWithASecretIsCorrupt() throws {
        let module = answering("tokenkeep=1\nstatus=ok\nitem=\nservice=YQ==\nsecret+=eA==\n\n")
        #expect(throws: TokenKeepError(.corrupt, "")) { try module.list(namespace: "", service: nil, call) }
    }

    @Test func aLineThatNeverEndsIsCorrupt() throws {
        #expect(try failure(module("exec tr '\\0' x </dev/zero\n"))?.status == .corrupt)
    }

    @Test(arguments: [
        ("exit 3\n", "with exit status 3"), ("kill -SEGV $$\n", "by signal 11"),
        ("printf 'tokenkeep=1\\nstatus=ok\\n'\n", "with exit status 0"),
    ])
    func aProgramThatEndsWithoutAnAnswerIsOutOfReach(script: String, words: String) throws {
        let error = try #require(try failure(module(Self.readRequest + script)))
        #expect(error.status == .unavailable)
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func whatCannotBeStartedIsOutOfReach() throws {
        #expect(try failure(module("", shebang: "#!/no/such/interpreter\n"))?.status == .unavailable)
        let module = module("exit 0\n")
        chmod(directory.path + "/module", 0o600)
        #expect(try failure(module)?.message.contains("not executable") == true)
        chmod(directory.path + "/module", 0o722)
        #expect(try failure(module)?.message.contains("may write") == true)
        chmod(directory.path + "/module", 0o700)
        chmod(directory.path, 0o777)
        #expect(try failure(module)?.message.contains("may write") == true)
        // A group that root gave a directory to is root's decision; another user's is refused.
        chmod(directory.path, 0o770)
        #expect(try failure(module)?.message.contains("may write") == (geteuid() != 0))
    }

    /// What a link points to is what is checked and started, and it is checked at each start.
    @Test func aLinkIsFollowedOnce() throws {
        let module = module(
            Self.readRequest
                + "printf 'tokenkeep=1\\nstatus=ok\\nsecret+=%s\\n\\n' $(printf %s \"$0\" | base64 -w 0)\n")
        let link = directory.path + "/link"
        symlink(directory.path + "/module", link)
        let linked = PluginModule(
            PluginModule.Setting(file: ModuleFile(path: link)),
            versionKey: { () throws(TokenKeepError) in try ItemVersionKey.random() })
        #expect(try module.load(name(), call).secret.utf8String == directory.path + "/module")
        #expect(try linked.load(name(), call).secret.utf8String == directory.path + "/module")
        chmod(directory.path + "/module", 0o777)
        #expect(try failure(linked)?.message.contains("may write") == true)
    }

    @Test func aProgramMayStayAndIsStartedAnewWhenItEnded() throws {
        let module = module(
            """
            count=0
            while :; do
                while IFS= read -r line || exit 0; do [ -n "$line" ] || break; done
                count=$((count + 1))
                printf 'tokenkeep=1\\nkeep=yes\\nstatus=ok\\nsecret+=%s\\n\\n' "$(printf %s "$$ $count" | base64)"
                [ $count -lt 2 ] || exit 0
            done
            """)
        let answers = try (0..<3).map { _ in
            try module.load(name(), call).secret.utf8String?.split(separator: " ").map(String.init) ?? []
        }
        #expect(answers.map(\.last) == ["1", "2", "1"])
        #expect(answers[0].first == answers[1].first)
        #expect(answers[0].first != answers[2].first)
    }

    /// What it says unasked is no answer to the next request.
    @Test func aProgramThatIsOutOfStepIsStartedAnew() throws {
        let (pipe, done) = (directory.path + "/pipe", directory.path + "/done")
        mkfifo(pipe, 0o600)
        let module = module(
            """
            answer() { printf 'tokenkeep=1\\nkeep=yes\\nstatus=ok\\nsecret+=%s\\n\\n' "$(printf %s "$1" | base64)"; }
            while IFS= read -r line && [ -n "$line" ]; do :; done
            if [ -e '\(done)' ]; then answer second; exit 0; fi
            answer first
            read -r line <'\(pipe)'
            answer stale
            : >'\(done)'
            while IFS= read -r line && [ -n "$line" ]; do :; done
            """)
        #expect(try module.load(name(), call).secret.utf8String == "first")
        close(open(pipe, O_WRONLY))
        #expect(Patience.wait { access(done, F_OK) == 0 })
        #expect(try module.load(name(), call).secret.utf8String == "second")
    }

    /// A host that waits for all its children must not wait for ever.
    @Test func aProgramThatStaysEndsWhenNothingIsAsked() throws {
        let pipe = directory.path + "/pipe"
        mkfifo(pipe, 0o600)
        let module = module(
            """
            exec 3>'\(pipe)'
            while :; do
                while IFS= read -r line || exit 0; do [ -n "$line" ] || break; done
                printf 'tokenkeep=1\\nkeep=yes\\nstatus=ok\\nsecret+=eA==\\n\\n'
            done
            """, idle: 50)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        for _ in 0..<2 {
            #expect(try module.load(name(), call).secret.utf8String == "x")
            var wait = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            #expect(poll(&wait, 1, Int32(Patience.milliseconds)) == 1)
            #expect(Int32(wait.revents) & POLLHUP != 0)
        }
    }

    @Test func itsEnvironmentIsClean() throws {
        setenv("TOKENKEEP_TEST_GIVEN", "given", 1)
        setenv("TOKENKEEP_TEST_KEPT_BACK", "kept back", 1)
        let script =
            Self.readRequest
            + "printf 'tokenkeep=1\\nstatus=ok\\n'\n"
            + "{ env; pwd; ls /proc/self/fd | wc -l; } | base64 -w 0 | sed 's/^/secret+=/'\nprintf '\\n\\n'\n"
        let text = try #require(
            try module(script, ["env=TOKENKEEP_TEST_GIVEN"]).load(name(), call).secret.utf8String)
        let lines = text.split(separator: "\n")
        let allowed = [
            "HOME", "PATH", "LANG", "XDG_RUNTIME_DIR", "TOKENKEEP_TEST_GIVEN", "PWD", "OLDPWD", "SHLVL", "_",
        ]
        for line in lines where line.contains("=") {
            #expect(allowed.contains(String(line.prefix { $0 != "=" })), "\(line)")
        }
        #expect(lines.contains("TOKENKEEP_TEST_GIVEN=given"))
        #expect(lines.contains("/"))
        // The three standard descriptors, the death pipe, the descriptor of ls and a pipe of the shell.
        #expect(Int(lines.last?.filter(\.isNumber) ?? "99") ?? 99 <= 6)
        let wrong = try failure(module(script, ["env=A=B"]))
        #expect(wrong?.status == .invalid && wrong?.message == "env= names no variable")
    }

    /// The program ends with its caller, even if a child of the caller keeps the death pipe open.
    @Test func itIsBoundToItsCallerAndHasNothingElse() throws {
        let script = """
            import base64, ctypes, fcntl, os, struct, sys
            while sys.stdin.readline() not in ("", "\\n"): pass
            numbers = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name))
            signal = ctypes.c_int()
            ctypes.CDLL(None).prctl(2, ctypes.byref(signal))  # PR_GET_PDEATHSIG
            owner = struct.unpack("ii", fcntl.fcntl(63, 16, bytes(8)))  # F_GETOWN_EX
            status = dict(line.split(":", 1) for line in open("/proc/self/status"))
            said = [numbers, signal.value, fcntl.fcntl(63, 11), owner == (2, os.getpgrp()), os.getpgrp() == os.getpid(),
                int(status["SigBlk"], 16)]
            print("tokenkeep=1\\nstatus=ok\\nsecret+=" + base64.b64encode(str(said).encode()).decode() + "\\n")
            """
        let module = module(script, shebang: "#!/usr/bin/python3\n")
        #expect(try module.load(name(), call).secret.utf8String == "[[0, 1, 2, 63], 9, 9, True, True, 0]")
    }

    /// What it left running on purpose is nobody's to kill.
    @Test func whatAnEndedProgramLeftRunsOn() throws {
        let pipe = directory.path + "/pipe"
        mkfifo(pipe, 0o600)
        let module = module(
            Self.readRequest
                + "{ read -r line; : >'\(directory.path)/done'; } <'\(pipe)' >/dev/null &\n"
                + "printf 'tokenkeep=1\\nstatus=ok\\nsecret+=eA==\\n\\n'\n")
        #expect(try module.load(name(), call).secret.utf8String == "x")
        close(open(pipe, O_WRONLY))
        #expect(Patience.wait { access(directory.path + "/done", F_OK) == 0 })
    }

    /// NOT_FOUND says something of an item, and nothing else.
    @Test func onlyAnItemIsNotFound() throws {
        let module = answering("tokenkeep=1\nstatus=not_found\n\n")
        #expect(throws: TokenKeepError(.notFound, "")) { try module.load(name(), call) }
        #expect(try !module.clear(name(), ifVersion: nil, call))
        #expect(throws: TokenKeepError(.corrupt, "")) {
            try module.save(SaveRequest(name: name(), secret: SecretBytes("x")), call)
        }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module.list(namespace: "", service: nil, call) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module.prepare(call) }
    }

    @Test func itsWordsAreShownByACheckAlone() throws {
        let module = answering("tokenkeep=1\nstatus=locked\nmessage=\(encoded("ask\nlater"))\n\n")
        let error = try failure(module)
        #expect(error?.status == .locked)
        #expect(error?.message == "the module answered LOCKED")
        #expect(error?.hint?.contains("tokenkeep module check") == true)
        #expect(try failure(module.repeatingWords())?.message == "ask later")
    }

    /// In any encoding: nothing that the module chose is in an error.
    @Test(arguments: ["message=$secret", "message=$(printf %s $secret | base64 -w 0)", "status=$secret", "$secret=x"])
    func aProgramThatEchoesTheSecretPutsNothingIntoTheError(line: String) throws {
        let module = module(
            """
            while IFS= read -r line && [ -n "$line" ]; do
                case $line in operation=*) operation=${line#*=} ;; secret+=*) secret=${line#secret+=} ;; esac
            done
            case $operation in
            load) printf 'tokenkeep=1\\nstatus=not_found\\n\\n' ;;
            report) printf 'tokenkeep=1\\nstatus=ok\\n\\n' ;;
            *) printf 'tokenkeep=1\\n%s\\nstatus=denied\\n\\n' "\(line)" ;;
            esac
            """)
        let request = try SaveRequest(name: name(), secret: SecretBytes("s3cr3t-t0ken"))
        do throws(TokenKeepError) {
            _ = try module.save(request, call)
            Issue.record("it saves")
        } catch {
            let words = error.description + (error.hint ?? "")
            #expect(!words.contains("t0ken") && !words.contains("czNjcjN0LXQwa2Vu"), "\(words)")
            #expect(error.status == (line.hasPrefix("message") ? .denied : .corrupt), "\(words)")
        }
    }
}

import Foundation
import Glibc
import TokenKeepCore

/// A thread of a test's own, that the test waits for.
public final class TestThread: @unchecked Sendable {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private var thread = pthread_t()
    /// The kernel's directory of the thread, below /proc; nil until it runs.
    private let folder = MutexGuarded<String?>(nil)

    /// Starts it.
    public init(_ body: @escaping @Sendable () -> Void) {
        let folder = folder
        let argument = Unmanaged.passRetained(
            Body {
                folder.withLock { $0 = TestThread.ownFolder() }
                body()
            }
        ).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
    }

    /// Waits for its end.
    public func join() { pthread_join(thread, nil) }

    /// Waits until each of the threads waits for another thread or process. Returns false if they do not.
    ///
    /// A thread counts as waiting if the kernel says at ten looks, one after another, that it sleeps.
    public static func wait(untilAsleep threads: [TestThread]) -> Bool {
        var looks = 0
        return Patience.wait {
            looks = threads.allSatisfy(\.isAsleep) ? looks + 1 : 0
            return looks == 10
        }
    }

    private var isAsleep: Bool { folder.withLock { $0 }.map(TestThread.isAsleep) ?? false }

    /// Whether the kernel says that a thread sleeps. `folder` is the thread's directory below /proc.
    static func isAsleep(in folder: String) -> Bool {
        guard let status = fopen("/proc/\(folder)/stat", "re") else { return false }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 1024)
        guard fgets(&line, Int32(line.count), status) != nil else { return false }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: ")").last?.hasPrefix(" S") ?? false
    }

    /// Whether all threads of this process sleep but the calling one.
    static var othersAreAsleep: Bool {
        let own = ownFolder()?.split(separator: "/").last.map(String.init)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") else { return false }
        return names.allSatisfy { $0 == own || isAsleep(in: "self/task/\($0)") }
    }

    /// The kernel's directory of the calling thread, below /proc.
    static func ownFolder() -> String? {
        var bytes = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/thread-self", &bytes, bytes.count - 1) > 0 else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

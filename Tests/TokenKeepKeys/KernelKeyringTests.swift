import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@Suite struct KernelKeyringTests {
    @Test func theKernelEndsAKeyAtItsTime() throws {
        let place = "tokenkeep:test:\(getpid()):1:0"
        #expect(KernelKeyring.publish(try SecretBytes(randomCount: 32), as: place, endsAfter: 1) == nil)
        #expect(try KernelKeyring.read(place, atMost: 32) != nil)
        #expect(try Patience.wait { try KernelKeyring.read(place, atMost: 32) == nil })
        // One that is made anew while it runs gets its own time, and one without an end has none.
        #expect(KernelKeyring.publish(try SecretBytes(randomCount: 32), as: place, endsAfter: nil) == nil)
        #expect(try KernelKeyring.read(place, atMost: 32) != nil)
        #expect(KernelKeyring.purge(place) == .done)
        #expect(try KernelKeyring.read(place, atMost: 32) == nil)
    }

    @Test func aKeyIsRemovedByItsWholeDescription() throws {
        let place = "tokenkeep:test:\(getpid()):removed"
        let longer = place + ":too"
        for place in [place, longer] {
            #expect(KernelKeyring.publish(try SecretBytes(randomCount: 32), as: place, endsAfter: nil) == nil)
        }
        KernelKeyring.remove(place)
        #expect(try KernelKeyring.read(place, atMost: 32) == nil)
        #expect(try KernelKeyring.read(longer, atMost: 32) != nil)
        KernelKeyring.remove(longer)
        #expect(KernelKeyring.descriptions(beginningWith: place).isEmpty)
        KernelKeyring.remove(place)  // There is none: nothing happens.
    }

    /// Another unlock takes the key away that a reader has just found, and leaves one of the same name.
    @Test func aKeyThatIsPutInPlaceOfAnotherIsReadMeanwhile() throws {
        let place = "tokenkeep:test:\(getpid()):replaced"
        let key = try SecretBytes(randomCount: 32)
        #expect(KernelKeyring.publish(key, as: place, endsAfter: nil) == nil)
        let isOver = MutexGuarded(false)
        let replaced = MutexGuarded(0)
        let thread = TestThread {
            while !isOver.withLock({ $0 }) {
                // What was replaced counts against the quota until the kernel collects it.
                let reason = KernelKeyring.publish(key, as: place, endsAfter: nil)
                replaced.withLock { $0 += reason == nil ? 1 : 0 }
            }
        }
        let deadline = Deadline.patient
        var missed = 0
        var read = 0
        while read < 50_000 || replaced.withLock({ $0 }) < 5000, !deadline.hasPassed {
            if try KernelKeyring.read(place, atMost: 32) != key { missed += 1 }
            read += 1
        }
        isOver.withLock { $0 = true }
        thread.join()
        #expect(missed == 0, "of \(read) while \(replaced.withLock { $0 }) were replaced")
        #expect(KernelKeyring.purge(place) == .done)
    }
}

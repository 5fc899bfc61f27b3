import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A device that does not answer costs an unlock the device's own time, not that of the call.
@Suite(.enabled(if: geteuid() == 0, "the helper and the service must be root's")) struct SilentDeviceMovedClockTests {
    /// Unlocks while the clock goes fast enough for the device's time to end. The unlock also waits for derivations, whose limit,
    /// that of the call, must not pass.
    private func expectSilence(_ world: LockedVault, _ store: Store, _ problem: String) throws {
        let limit = Deadline.patient
        let (outcome, statuses) = try TestClock.passLimits(by: 0.1) {
            (try store.unlock(SecretBytes("old")), Levels.statuses(world, store))
        }.answer
        #expect(outcome.deviceProblem == problem)
        #expect(statuses == Levels.withoutDevice)
        #expect(!limit.hasPassed)
    }

    @Test func aSilentHelperCostsTheBudgetAlone() throws {
        let tpm = try FakeTPM()
        let world = LockedVault(tpm: tpm.places)
        try world.bindToTPM()
        tpm.reply(.silence)
        try expectSilence(world, world.elsewhere(), "the TPM did not answer in time")
    }

    /// The program runs and never answers: a hung driver, which a kill may not end.
    @Test func aHungProgramCostsTheBudgetAlone() throws {
        let tpm = try FakeTPM()
        let world = LockedVault(tpm: tpm.places)
        try world.bindToTPM()
        let directory = TemporaryDirectory()
        directory.write(Array("#!/bin/sh\nexec sleep infinity\n".utf8), to: "hangs", mode: 0o700)
        let places = TPMPlaces(program: directory.path + "/hangs", configuration: "none")
        try expectSilence(world, world.elsewhere(places), "the TPM did not answer in time")
    }

    @Test(arguments: ["silence", "drip"]) func aSilentServiceCostsTheBudgetAlone(reply: String) throws {
        let service = try FakeCredentials()
        let world = LockedVault(credentials: service.path)
        try world.setPassword()
        _ = try world.other().device.choose(nil) { () throws(TokenKeepError) in try SecretBytes("old") }
        for level in Levels.all { try world.save(level.word, level: level) }
        service.reply(reply)
        try expectSilence(world, world.elsewhere(), "systemd did not answer in time")
    }
}

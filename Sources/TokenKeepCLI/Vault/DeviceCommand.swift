import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep device …`.
struct DeviceCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Bind the vault to this device, for items that never leave it.",
        discussion: """
            Items of the levels when-unlocked-this-device-only, after-first-unlock-this-device-only and \
            when-passcode-set-this-device-only open on this device alone, even for somebody who has a copy of the vault and \
            its password. The provider tpm2 is the machine's TPM 2.0. The provider systemd is the service \
            io.systemd.Credentials of systemd 256, which uses the TPM. The provider machine-key is a file of root's: it \
            stops a copy of your home, not a copy of the whole disk.

              sudo systemctl enable --now tokenkeep-tpm2.socket
              tokenkeep device choose
              tokenkeep device show
            """.withWholeExamples,
        subcommands: [Show.self, Choose.self, Rebind.self, MakeMachineKey.self])

    /// `tokenkeep device choose`.
    struct Choose: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "choose",
            abstract: "Bind the vault to a device for the first time.",
            discussion: "Without a provider the first that this machine has is taken: tpm2, systemd, machine-key.")

        @OptionGroup
        var provider: ProviderArgument

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let chosen = try store.device.choose(provider.value()) { () throws(TokenKeepError) in
                try options.password(of: store, inInput: stdin)
            }
            DeviceCommand.explain(chosen.provider, chosen.passedOver)
            DeviceCommand.explainNeed(of: try store.device.identity())
            try DeviceCommand.explainIndex(store)
            DeviceCommand.explainRecovery(try store.device.isRecoverable())
        }
    }

    /// `tokenkeep device re-bind`.
    struct Rebind: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "re-bind",
            abstract: "Bind the vault to another device.",
            discussion: """
                While the old device answers, every record is sealed anew and no item is lost. Otherwise the items that it \
                alone opens are named, and nothing is changed unless they are destroyed.
                """)

        @OptionGroup
        var provider: ProviderArgument

        @Flag(help: "Destroy the items that only the old device opens, if it does not answer.")
        var destroyItems = false

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let named = try provider.value()
            let hadCode = try store.device.isRecoverable() != nil
            var chosen: (provider: DeviceProvider, passedOver: DeviceFault?)?
            var remains: [UInt32] = []
            try changingKeys(of: store) { (progress) throws(TokenKeepError) in
                let result = try store.device.rebind(
                    named, isDestroying: destroyItems,
                    password: { () throws(TokenKeepError) in try options.password(of: store, inInput: stdin) },
                    lost: DeviceCommand.explainLoss, progress: progress)
                chosen = (result.provider, result.passedOver)
                remains = result.outcome.remainingIndices
                return result.outcome
            }
            if let chosen { DeviceCommand.explain(chosen.provider, chosen.passedOver) }
            for index in remains {
                let number = "0x" + String(index, radix: 16)
                Terminal.explain(
                    "the TPM keeps the index \(number), which the vault no longer uses: tpm2_nvundefine -C o \(number)")
            }
            DeviceCommand.explainNeed(of: try store.device.identity())
            let isRecoverable = try store.device.isRecoverable()
            if hadCode, isRecoverable == nil {
                Terminal.explain("an earlier recovery code is void: tokenkeep recovery create")
            }
            DeviceCommand.explainRecovery(isRecoverable)
        }
    }

    /// `tokenkeep device make-machine-key`.
    struct MakeMachineKey: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "make-machine-key",
            abstract: "Make this machine's key, as root.",
            discussion: "The file is \(MachineKey.standardPath). If it exists, nothing is changed.")

        func run() throws {
            guard try MachineKey.make() else {
                return Terminal.explain("there is a machine key already; nothing is changed")
            }
        }
    }

    private static func explain(_ provider: DeviceProvider, _ passedOver: DeviceFault?) {
        Terminal.explain("the vault is bound to this device (\(provider.word))")
        guard let passedOver else { return }
        Terminal.explain(
            "a better provider is passed over: \(passedOver.reason)" + (passedOver.remedy.map { ": \($0)" } ?? ""))
    }

    private static func explainNeed(of device: DeviceIdentity?) {
        if let need = device.flatMap(needOfFirmware) { Terminal.explain(need) }
    }

    /// Returns a sentence about the firmware's state to which the device's secret is bound; nil if the secret is not
    /// bound to the firmware's state.
    static func needOfFirmware(_ device: DeviceIdentity) -> String? {
        guard !device.registers.isEmpty else { return nil }
        let numbers = device.registers.map(String.init).joined(separator: ", ")
        return
            "systemd bound the secret to the firmware's state (PCR \(numbers)): a change of it, as by an update of Secure "
            + "Boot's keys, locks the items. Before it: tokenkeep device re-bind machine-key"
    }

    private static func explainLoss(of names: [ItemName], because fault: DeviceFault) {
        Terminal.explain(fault.reason + (names.isEmpty ? "" : "; only the vault's device opens:"))
        for name in names { Terminal.explain("  \(name)") }
    }

    /// Explains that the level when-passcode-set-this-device-only is protected less if the TPM has no index for the
    /// level's secret. Prints nothing if the TPM has the index.
    static func explainIndex(_ store: Store) throws(TokenKeepError) {
        guard try store.device.lacksIndex() else { return }
        Terminal.explain(
            "the TPM gives no index (it has no room, or an owner password): after password remove, an older copy of the vault "
                + "opens items of when-passcode-set-this-device-only here. Make room, and run tokenkeep password change"
        )
    }

    private static func explainRecovery(_ isRecoverable: Bool?) {
        guard isRecoverable == false else { return }
        Terminal.explain(
            "the recovery code opens no item of levels of this device; a new one does: tokenkeep recovery create")
    }
}

/// The argument that selects a provider.
struct ProviderArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("tpm2, systemd or machine-key.", valueName: "provider"),
        completion: .list(ProviderArgument.words))
    var provider: String?

    private static let words = DeviceProvider.supported.map(\.word)

    /// The provider; nil if the argument is absent.
    func value() throws(TokenKeepError) -> DeviceProvider? {
        guard let provider else { return nil }
        guard let known = DeviceProvider.supported.first(where: { $0.word == provider }) else {
            throw TokenKeepError(
                .invalid, "there is no such provider",
                hint: "the providers are: \(ProviderArgument.words.joined(separator: ", "))")
        }
        return known
    }
}

import ArgumentParser
import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The secrets that `run` passes to its command. All secrets are loaded before the first one is passed on.
struct RunSecrets {
    private enum Value {
        case text(String)
        case variable(ItemReference)
        case descriptor(ItemReference)
    }

    private enum Loaded {
        case text(String)
        case variable(SecretBytes)
        case descriptor(SecretBytes)
    }

    private var values: [String: Value] = [:]

    /// Whether the command gets at least one secret.
    var hasReferences: Bool {
        values.values.contains { if case .text = $0 { false } else { true } }
    }

    /// Reads the options, the files and the environment. If a variable has several values, the value of an option takes
    /// precedence, then the value in the last file, then the value in the environment.
    ///
    /// - Throws: ``Status/invalid`` for a malformed reference, file or option, or for two options with the same name;
    ///   ``Status/timedOut`` if the writer of a pipe does not end before the deadline.
    init(options: RunSecretOptions, namespace: String, until deadline: Deadline) throws(TokenKeepError) {
        for (name, value) in RunSecrets.environment() where ItemReference.isMeant(by: value) {
            values[name] = .variable(try ItemReference(value, of: "the variable \(name)", namespace: namespace))
        }
        for path in options.envFile {
            for (name, value) in try EnvironmentFile.read(path, until: deadline) {
                guard ItemReference.isMeant(by: value) else {
                    values[name] = .text(value)
                    continue
                }
                values[name] = .variable(
                    try ItemReference(value, of: "the variable \(name) of \(path)", namespace: namespace))
            }
        }
        var named: Set<String> = []
        for (option, texts) in [("--env", options.env), ("--fd", options.fd)] {
            for text in texts {
                guard let (name, value) = EnvironmentFile.variable(Substring(text)) else {
                    throw TokenKeepError(
                        .invalid, "\(option) takes NAME=REF", hint: "\(option) TOKEN=tokenkeep://SERVICE/ACCOUNT")
                }
                guard named.insert(name).inserted else {
                    throw TokenKeepError(.invalid, "two options are for the variable \(name)")
                }
                let reference = try ItemReference(value, of: "the value of \(option) \(name)", namespace: namespace)
                values[name] = option == "--fd" ? .descriptor(reference) : .variable(reference)
            }
        }
    }

    /// Loads every secret, and then puts the secrets into this process's environment and descriptors, which the command
    /// inherits.
    ///
    /// - Parameter open: opens the store of a namespace.
    /// - Throws: the failure of a load, ``Status/expired`` if an item has expired, or ``Status/invalid`` if a variable
    ///   cannot hold a secret. In these cases the environment is unchanged. ``Status/unsupported`` if the kernel makes
    ///   no descriptor for a secret.
    func handOver(open: (_ namespace: String) throws(TokenKeepError) -> Store) throws(TokenKeepError) {
        var stores: [String: Store] = [:]
        var loaded: [(name: String, value: Loaded)] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .text(let text): loaded.append((name, .text(text)))
            case .variable(let reference):
                let secret = try RunSecrets.load(reference, &stores, open)
                guard !secret.withUnsafeBytes({ $0.contains(0) }) else {
                    throw TokenKeepError(
                        .invalid, "the secret of \(reference.name) has a NUL, which no variable can hold",
                        hint: "hand it over by a descriptor: --fd \(name)=REF")
                }
                loaded.append((name, .variable(secret)))
            case .descriptor(let reference):
                loaded.append((name, .descriptor(try RunSecrets.load(reference, &stores, open))))
            }
        }
        for (name, value) in loaded { try RunSecrets.set(name, value) }
    }

    private static func load(
        _ reference: ItemReference, _ stores: inout [String: Store],
        _ open: (_ namespace: String) throws(TokenKeepError) -> Store
    ) throws(TokenKeepError) -> SecretBytes {
        let name = reference.name
        let store = if let known = stores[name.namespace] { known } else { try open(name.namespace) }
        stores[name.namespace] = store
        let item = try store.load(service: name.service, account: name.account)
        if let expiry = item.details.expiresAt, expiry <= .now {
            throw TokenKeepError(.expired, "\(name) expired at \(expiry.iso8601)", hint: "save a new secret")
        }
        return item.secret
    }

    private static func set(_ name: String, _ value: Loaded) throws(TokenKeepError) {
        switch value {
        case .text(let text): setenv(name, text, 1)
        case .variable(let secret):
            // A zero byte follows the secret in memory, so the secret is a C string.
            setenv(name, secret.unsafeAddress.assumingMemoryBound(to: CChar.self), 1)
        case .descriptor(let secret):
            var descriptor: Int32 = -1
            let error = secret.withUnsafeBytes {
                tokenkeep_sealed_memory_make($0.baseAddress, $0.count, &descriptor)
            }
            guard error == 0 else {
                throw TokenKeepError(
                    .unsupported,
                    "the kernel refuses a sealed memory file for a secret: \(Terminal.describe(errno: error))",
                    hint: "hand it over by a variable: --env \(name)=REF")
            }
            setenv(name, "/dev/fd/\(descriptor)", 1)
        }
    }

    /// The variables of this process that are UTF-8.
    private static func environment() -> [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        var entry = environ
        while let text = entry.pointee {
            if let variable = String(validatingCString: text),
                let sign = variable.utf8.firstIndex(of: UInt8(ascii: "="))
            {
                result.append((String(variable[..<sign]), String(variable[variable.index(after: sign)...])))
            }
            entry += 1
        }
        return result
    }
}

/// The options that select the secrets for the command.
struct RunSecretOptions: ParsableArguments {
    @Option(
        parsing: .singleValue, help: ArgumentHelp("Put the secret of an item into a variable.", valueName: "name=ref"))
    var env: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Set the variables of a file, NAME=VALUE in each line, and resolve references.", valueName: "file"),
        completion: .file())
    var envFile: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Hand the secret over by a descriptor. The variable is its path, /dev/fd/N.", valueName: "name=ref"))
    var fd: [String] = []
}

import CSystemShims
import Glibc
import TokenKeepCore

/// The program, the TCTI and the socket through which this process reaches the TPM.
package struct TPMPlaces: Sendable {
    /// How this process reaches the TPM.
    package enum Way: String, Sendable {
        /// `tokenkeep-tpm2` runs as the user, who may open the TPM's device.
        case direct
        /// Root's helper opens the TPM's device.
        case helper
    }

    /// The path of the program `tokenkeep-tpm2`; nil for the installed program.
    package var program: String?
    /// The TCTI of tpm2-tss; nil for the value of `TOKENKEEP_TCTI` or, without it, for the device.
    package var configuration: String?
    /// The path of the helper's socket; nil for the path in `TOKENKEEP_TPM2_SOCKET` or, without it, the standard path.
    package var socket: String?

    /// Uses the standard program, TCTI or socket for each argument that is nil. Only tests pass other values.
    package init(program: String? = nil, configuration: String? = nil, socket: String? = nil) {
        self.program = program
        self.configuration = configuration
        self.socket = socket
    }

    private static let device = "/dev/tpmrm0"
    private static let standardSocket = "/run/tokenkeep/tpm2"

    /// Chooses the way to the TPM. A configured TCTI or socket takes precedence over the machine's device.
    func access() throws(DeviceFault) -> Access {
        if let configuration = configuration ?? EnvironmentPath.value("TOKENKEEP_TCTI") {
            guard let program = program ?? TPMPlaces.installedProgram else {
                throw DeviceFault(.absent, "the program tokenkeep-tpm2 is not installed")
            }
            return .program(program, configuration: configuration)
        }
        if let named = socket ?? EnvironmentPath.value("TOKENKEEP_TPM2_SOCKET") { return .socket(named) }
        if faccessat(AT_FDCWD, TPMPlaces.device, R_OK | W_OK, AT_EACCESS) == 0,
            let program = program ?? TPMPlaces.installedProgram
        {
            return .program(program, configuration: nil)
        }
        return .socket(TPMPlaces.standardSocket)
    }

    private static var installedProgram: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard tokenkeep_tpm2_program(&path) != 0 else { return nil }
        return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The chosen access to the TPM: a program to start, or a socket to connect to.
    enum Access {
        case program(String, configuration: String?)
        case socket(String)

        var way: Way {
            switch self {
            case .program: .direct
            case .socket: .helper
            }
        }

        /// Sends a request and returns the reply, which is untrusted.
        func exchange(_ request: SecretBytes, until deadline: Deadline) throws(DeviceFault) -> SecretBytes {
            var error: Int32 = 0
            let reply = try DeviceFault.needing { () throws(TokenKeepError) in
                // The buffer has one byte more than the longest valid reply, so that a longer reply is detected.
                try SecretBytes(capacity: TPMReply.longest + 1) { reply in
                    var count = 0
                    error = request.withUnsafeBytes { ask($0, deadline.remainingMilliseconds, reply, &count) }
                    return error == 0 ? count : 0
                }
            }
            guard error == 0 else { throw fault(error) }
            return reply
        }

        private func ask(
            _ request: UnsafeRawBufferPointer, _ milliseconds: UInt32, _ reply: UnsafeMutableRawBufferPointer,
            _ count: inout Int
        ) -> Int32 {
            switch self {
            case .socket(let path):
                return tokenkeep_socket_ask(
                    path, 0, TOKENKEEP_MESSAGE, request.baseAddress, request.count, milliseconds,
                    reply.bindMemory(to: UInt8.self).baseAddress, reply.count, &count)
            case .program(let path, let configuration):
                return TPMProgram.ask(
                    path, configuration, request, until: Deadline(milliseconds: milliseconds), reply, &count)
            }
        }

        private func fault(_ error: Int32) -> DeviceFault {
            switch (error, self) {
            case (ETIMEDOUT, _): TPMReply.silent
            case (EPROTO, _): DeviceFault(.silent, "tokenkeep-tpm2 ended without a reply")
            case (EBUSY, _): DeviceFault(.silent, "four earlier requests hang in the TPM's driver")
            case (ENOENT, .socket(let path)): Access.nobodyListens(path)
            case (EPERM, .socket(let path)): DeviceFault(.absent, "the program that listens on \(path) is not root's")
            case (_, .socket(let path)):
                DeviceFault(.absent, "cannot connect to \(path): \(String(cString: strerror(error)))")
            case (_, .program(let path, _)):
                DeviceFault(.absent, "cannot start \(path): \(String(cString: strerror(error)))")
            }
        }

        private static func nobodyListens(_ path: String) -> DeviceFault {
            guard path == standardSocket else {
                return DeviceFault(.absent, "no helper for the TPM listens on \(path)")
            }
            guard faccessat(AT_FDCWD, device, F_OK, 0) == 0 else {
                return DeviceFault(.absent, "this machine has no TPM 2.0 (\(device))")
            }
            return DeviceFault(
                .absent, "only root may open the TPM, and no helper of root's listens on \(path)",
                remedy: "sudo systemctl enable --now tokenkeep-tpm2.socket")
        }
    }
}

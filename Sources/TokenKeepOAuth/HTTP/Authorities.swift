import Glibc
import TokenKeepCore

/// The authorities that sign servers' certificates.
enum Authorities {
    /// The PEM file that `SSL_CERT_FILE` names, as for the programs of OpenSSL; nil if none is named, and in a process with
    /// more rights than its caller.
    static var fromEnvironment: String? {
        guard !Privileges.areRaised, let value = getenv("SSL_CERT_FILE"), let path = String(validatingCString: value)
        else {
            return nil
        }
        return path.isEmpty ? nil : path
    }
}

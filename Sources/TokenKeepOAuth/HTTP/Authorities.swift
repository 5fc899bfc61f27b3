import Glibc
import TokenKeepCore

/// Finds the file of the certificate authorities that are trusted for servers.
enum Authorities {
    /// The PEM file named by `SSL_CERT_FILE`, as OpenSSL uses it; nil if the variable is not set, or if the process has
    /// more rights than its caller.
    static var fromEnvironment: String? {
        guard !Privileges.areRaised, let value = getenv("SSL_CERT_FILE"), let path = String(validatingCString: value)
        else {
            return nil
        }
        return path.isEmpty ? nil : path
    }
}

public import TokenKeepCore

extension Array where Element == UInt8 {
    /// `withUnsafeBytes` with a typed error.
    @inlinable
    package func lent<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result: Swift.Result<Result, Failure> = withUnsafeBytes { bytes in
            do throws(Failure) {
                return .success(try body(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension SecretBytes {
    /// `withUnsafeBytes` under the name that arrays have in this project.
    @inlinable
    package func lent<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(body)
    }
}

extension FormatFault {
    /// Runs a body that fails only if memory is exhausted or libsodium cannot start.
    package static func needing<Result>(
        _ body: () throws(TokenKeepError) -> Result
    ) throws(FormatFault) -> Result {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw .resources(error)
        }
    }
}

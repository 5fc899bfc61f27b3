public import TokenKeepCore

extension Array where Element == UInt8 {
    /// Calls `body` with the array's bytes, like `withUnsafeBytes`, and throws only errors of the type `Failure`.
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
    /// Calls `body` with the secret's bytes, and throws only errors of the type `Failure`.
    @inlinable
    package func lent<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(body)
    }
}

extension FormatFault {
    /// Calls `body`, and converts its error to ``FormatFault/resources(_:)``.
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

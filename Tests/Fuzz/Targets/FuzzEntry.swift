import Glibc

/// Reads an input of libFuzzer with the target of this name.
///
/// - Returns: 0; 1 if the input broke a rule, which is written to standard output; -1 if there is no such target.
@_cdecl("tokenkeep_fuzz")
public func fuzz(_ name: UnsafePointer<CChar>, _ input: UnsafeRawPointer?, _ length: Int) -> Int32 {
    guard let target = FuzzTarget(rawValue: String(cString: name)) else { return -1 }
    do {
        _ = try target.takes(UnsafeRawBufferPointer(start: input, count: length))
    } catch {
        print("\(target.rawValue): \(error)")
        fflush(nil)
        return 1
    }
    return 0
}

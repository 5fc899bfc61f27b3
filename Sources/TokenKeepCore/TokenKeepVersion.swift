/// The version of this build. The C header `tokenkeep/version.h` has the same version.
public enum TokenKeepVersion {
    /// The version as text: `major.minor.patch`.
    public static let string = "0.1.0"
    /// The version as one number: major · 10^6 + minor · 10^3 + patch.
    public static let number: UInt32 = 1_000
}

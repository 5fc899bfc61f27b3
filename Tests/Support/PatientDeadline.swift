public import TokenKeepCore

extension Deadline {
    /// The deadline of calls that must succeed, however busy the machine is.
    public static var patient: Deadline { Deadline(milliseconds: Patience.milliseconds) }
    /// A deadline that has passed already.
    public static var passed: Deadline { Deadline(milliseconds: 0) }
}

extension CallContext {
    /// A call that must succeed, however busy the machine is.
    public static var patient: CallContext { CallContext(deadline: .patient) }
    /// A call whose deadline has passed already.
    public static var passed: CallContext { CallContext(deadline: .passed) }
}

import TokenKeepCore

extension TokenStore {
    /// The protection that a stack actually achieves for a level, axis by axis.
    public struct Protection: Sendable {
        /// A threat that an item is protected against. The raw values are those of the C API.
        public enum Axis: UInt32, Sendable, CaseIterable {
            /// Another user of the machine.
            case otherUser = 1
            /// A person who has the disk or a backup of the whole home directory, but not the password.
            case diskTheft = 2
            /// A copy of the home directory on another machine, even if the password is known.
            case otherMachine = 3
            /// The user's own programs while the screen is locked.
            case screenLock = 4
            /// A use of the item without asking the user.
            case presence = 5

            var core: ProtectionAxis {
                switch self {
                case .otherUser: .otherUser
                case .diskTheft: .diskTheft
                case .otherMachine: .otherMachine
                case .screenLock: .screenLock
                case .presence: .presence
                }
            }
        }

        /// The strength of a protection. The raw values are those of the C API.
        public enum Strength: UInt32, Sendable, Comparable {
            /// No protection.
            case none = 0
            /// Protection that can be circumvented.
            case advisory = 1
            /// Protection that holds because the key is missing, or that the kernel enforces.
            case enforced = 2

            init(_ core: ProtectionStrength) {
                self =
                    switch core {
                    case .none: .none
                    case .advisory: .advisory
                    case .enforced: .enforced
                    }
            }

            /// Orders strengths from weak to strong.
            public static func < (left: Strength, right: Strength) -> Bool { left.rawValue < right.rawValue }
        }

        /// The protection on one axis.
        public struct Measure: Sendable {
            /// The strength of the protection.
            public let strength: Strength
            /// The mechanism of the protection, in words.
            public let mechanism: String
            /// The measure that would raise the strength to ``Strength/enforced``; nil if none is needed or possible.
            public let remedy: String?
        }

        let core: TokenKeepCore.Protection

        /// The protection on one axis.
        public subscript(axis: Axis) -> Measure {
            let found = core[axis.core]
            return Measure(strength: Strength(found.strength), mechanism: found.mechanism, remedy: found.remedy)
        }
    }
}

import Glibc

/// Checks whether a user is the only member of a group, like the private group that many systems make for each user.
///
/// Under the umask 002, such a group may write to the user's files. No other user gets access, because the group has no
/// other member.
enum PrivateGroup {
    private static let largestEntry = 1 << 20

    /// Whether a group is the user's primary group, has the same name as the user and has no other member.
    static func isOwn(_ group: gid_t, of user: uid_t) -> Bool {
        guard let (name, primary) = entry(of: user), primary == group else { return false }
        return isOf(name, group)
    }

    private static func entry(of user: uid_t) -> (name: String, primary: gid_t)? {
        var entry = passwd()
        return withGrowingBuffer { buffer, size in
            var found: UnsafeMutablePointer<passwd>?
            let error = getpwuid_r(user, &entry, buffer, size, &found)
            guard error == 0, found != nil, let name = entry.pw_name else { return (error, nil) }
            return (0, (String(cString: name), entry.pw_gid))
        }
    }

    private static func isOf(_ name: String, _ group: gid_t) -> Bool {
        var entry = Glibc.group()
        let isOwn: Bool? = withGrowingBuffer { buffer, size in
            var found: UnsafeMutablePointer<Glibc.group>?
            let error = getgrgid_r(group, &entry, buffer, size, &found)
            guard error == 0, found != nil, let groupName = entry.gr_name else { return (error, nil) }
            guard String(cString: groupName) == name else { return (0, false) }
            var member = entry.gr_mem
            while let text = member?.pointee {
                if String(cString: text) != name { return (0, false) }
                member = member?.successor()
            }
            return (0, true)
        }
        return isOwn == true
    }

    /// Calls `body` with larger and larger buffers while `body` returns ERANGE (the buffer is too small).
    private static func withGrowingBuffer<Result>(
        _ body: (UnsafeMutablePointer<CChar>, Int) -> (error: Int32, result: Result?)
    ) -> Result? {
        var size = 1024
        while size <= largestEntry {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let (error, result) = body(buffer, size)
            if error != ERANGE { return result }
            size *= 4
        }
        return nil
    }
}

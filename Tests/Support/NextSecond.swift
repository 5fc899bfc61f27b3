import Glibc

/// Waits for the wall clock's next second: what services keep of times is whole seconds.
public func awaitNextSecond() {
    var next = timespec()
    clock_gettime(CLOCK_REALTIME, &next)
    next.tv_sec += 1
    next.tv_nsec = 0
    while clock_nanosleep(CLOCK_REALTIME, CInt(TIMER_ABSTIME), &next, nil) == EINTR {}
}

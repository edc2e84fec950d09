import CLinux
internal import Glibc

/// The epoll instance of a loop and the table of its watches.
final class Epoll {
    private let epoll: Descriptor
    private var watches: [Watch?] = []
    private var generation: UInt32 = 0
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init() throws(SystemError) {
        epoll = Descriptor(owning: try systemCall("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        events = .allocate(capacity: 256)
        events.initialize(repeating: epoll_event())
    }

    deinit {
        for watch in watches { watch?.forgetEpoll() }
        events.deallocate()
    }

    /// Registers a descriptor.
    ///
    /// - Throws: `EPERM` for what epoll rejects (a regular file is always ready), `EEXIST` when it is watched already.
    func add(
        _ descriptor: Int32, _ interest: Readiness, handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Watch {
        generation &+= 1
        let watch = Watch(
            descriptor: descriptor, interest: interest, generation: generation, epoll: self, handler: handler)
        try control(EPOLL_CTL_ADD, descriptor, interest, watch.token)
        let index = Int(descriptor)
        while watches.count <= index { watches.append(nil) }
        watches[index] = watch
        return watch
    }

    /// Whether a watch is still the one of its descriptor, whose number may have been closed and watched again.
    func knows(_ watch: Watch) -> Bool {
        let index = Int(watch.descriptor)
        return index < watches.count && watches[index] === watch
    }

    func remove(_ watch: Watch) {
        guard knows(watch) else { return }
        watches[Int(watch.descriptor)] = nil
        // A library may have closed its descriptor already; the kernel has then removed it.
        _ = try? control(EPOLL_CTL_DEL, watch.descriptor, [], 0)
    }

    func control(
        _ operation: Int32, _ descriptor: Int32, _ interest: Readiness, _ token: UInt64
    ) throws(SystemError) {
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
        try systemCall("epoll_ctl") { epoll_ctl(epoll.number, operation, descriptor, &event) }
    }

    /// Waits for events, at most `timeout` (nil: for ever), and calls their handlers.
    func poll(timeout: Duration?) {
        let count: Int32
        if let timeout {
            let nanoseconds = max(0, timeout.nanoseconds)
            var limit = timespec(
                tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            count = epoll_pwait2(epoll.number, events.baseAddress, Int32(events.count), &limit, nil)
        } else {
            count = epoll_pwait2(epoll.number, events.baseAddress, Int32(events.count), nil, nil)
        }
        if count < 0 {
            let code = cw_errno()
            // Any other error would come again at once, for ever: a kernel before 5.11 lacks this call.
            precondition(code == EINTR, "epoll_pwait2: \(SystemError(code: code, call: "epoll_pwait2").reason)")
            return
        }
        for event in events[..<Int(count)] {
            let token = event.data.u64
            let index = Int(UInt32(truncatingIfNeeded: token))
            guard index < watches.count, let watch = watches[index], watch.token == token else { continue }
            watch.handler?(Readiness(rawValue: event.events))
        }
    }
}

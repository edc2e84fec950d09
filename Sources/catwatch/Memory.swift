internal import CLinux

/// How the C library's allocator is set up. (mallopt(3).)
enum Memory {
    /// One arena, since one thread does nearly all the work, and freed memory goes back to the system early.
    static func economise() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 64 << 10)
        mallopt(M_TRIM_THRESHOLD, 128 << 10)
    }
}

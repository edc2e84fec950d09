internal import CLinux

/// The configuration of the C library's allocator (mallopt(3)).
enum Memory {
    /// Uses one arena, since one thread does nearly all the work, and returns freed memory to the system early.
    static func economise() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 64 << 10)
        mallopt(M_TRIM_THRESHOLD, 128 << 10)
    }
}

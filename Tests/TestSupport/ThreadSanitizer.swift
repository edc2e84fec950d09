internal import Glibc

/// Whether these tests run under the thread sanitizer, which has memory of its own and takes faults for itself.
package enum ThreadSanitizer {
    package static let isOn = dlsym(nil, "__tsan_init") != nil
}

/// Carries a value that belongs to a loop from one of its actors to another.
package struct LoopBound<Value>: @unchecked Sendable {  // both actors run on the same loop, hence on the same thread
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// A read buffer. Many readers of a loop may share it: none keeps data in it across a suspension.
package final class ReadBuffer: @unchecked Sendable {  // used on one loop only
    package let memory: UnsafeMutableRawBufferPointer

    /// - Parameter count: the size in bytes.
    package init(count: Int = 16 << 10) { memory = .allocate(byteCount: count, alignment: 16) }

    deinit { memory.deallocate() }
}

/// Carries what belongs to a loop from one of its actors to another.
package struct LoopBound<Value>: @unchecked Sendable {  // both actors run on the same loop, hence on the same thread
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// Memory to read into. It may be shared by many readers of a loop: none keeps anything in it across a suspension.
package final class ReadBuffer: @unchecked Sendable {  // touched on one loop only
    package let memory: UnsafeMutableRawBufferPointer

    /// - Parameter count: its size in bytes.
    package init(count: Int = 16 << 10) { memory = .allocate(byteCount: count, alignment: 16) }

    deinit { memory.deallocate() }
}

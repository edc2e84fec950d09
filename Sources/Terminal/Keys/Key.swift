/// A key press or mouse action.
package enum Key: Sendable, Equatable {
    /// A printable character.
    case character(Unicode.Scalar)
    /// Ctrl with a letter, given in lower case: `c`.
    case control(Unicode.Scalar)
    case up, down, left, right
    case pageUp, pageDown, home, end, insert, delete
    case enter, escape, backspace, tab, backTab
    /// F1 to F20.
    case function(Int)
    /// Pasted text, control characters included.
    case paste(String)
    case mouse(Mouse)

    /// A press or a turn of the wheel; the cell is counted from 0.
    package struct Mouse: Sendable, Equatable {
        package enum Kind: Sendable, Equatable { case press, wheelUp, wheelDown }

        package var kind: Kind
        package var column: Int
        package var row: Int

        package init(kind: Kind, column: Int, row: Int) { (self.kind, self.column, self.row) = (kind, column, row) }
    }
}

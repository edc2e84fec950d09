internal import CSimdJSON

/// The elements of an array or the members of an object, in order.
package struct JSONMembers: RandomAccessCollection {
    private let document: JSONDocument
    private let members: [csj_member]

    init(document: JSONDocument, members: [csj_member]) {
        self.document = document
        self.members = members
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { members.count }

    package subscript(position: Int) -> JSONMember {
        let member = members[position]
        return JSONMember(
            key: JSONText.unescape(document.storage[document.absolute(member.key)]), value: document.part(member.value))
    }
}

/// One element of an array, or one member of an object.
package struct JSONMember {
    /// The key as plain UTF-8; empty for an element.
    package let key: Bytes
    /// Its bytes are the whole document's.
    package let value: JSONDocument
}

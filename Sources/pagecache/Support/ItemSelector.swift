#if Tool
import PageModel

/// What `--id` names: a text that is a string or a number at the origin, or, written as a JSON string, a string.
struct ItemSelector {
    let text: String
    private let types: [IDType]

    /// - Parameter argument: an id's text, or the id as a JSON string.
    init(_ argument: String) {
        let string = JSONString.text(of: argument)
        text = string ?? argument
        types = string == nil ? [.string, .number] : [.string]
    }

    /// The keys of the items that it names.
    var keys: [UInt64] { types.map { ItemIdentity.key(ofID: text, type: $0) } }

    /// Whether it names the item at `index`: equal hashes are not equal ids.
    func matches(_ ids: ItemIDs, at index: Int) -> Bool {
        guard let type = ids.type(at: index) else { return false }
        return types.contains(type) && ids[index] == text
    }
}
#endif

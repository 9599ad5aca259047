#if Tool
import PageModel

/// The argument of `--id`: a text that is the id as a string or as a number. A JSON string selects the string only.
struct ItemSelector {
    let text: String
    private let types: [IDType]

    /// - Parameter argument: the text of an id, or the id as a JSON string.
    init(_ argument: String) {
        let string = JSONString.text(of: argument)
        text = string ?? argument
        types = string == nil ? [.string, .number] : [.string]
    }

    /// The keys of the items that may match the selector.
    var keys: [UInt64] { types.map { ItemIdentity.key(ofID: text, type: $0) } }

    /// Whether the selector matches the item at `index`. Equal hashes do not prove equal ids.
    func matches(_ ids: ItemIDs, at index: Int) -> Bool {
        guard let type = ids.type(at: index) else { return false }
        return types.contains(type) && ids[index] == text
    }
}
#endif

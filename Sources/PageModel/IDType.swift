/// What an item's id is at its origin. The number 0 and the string "0" are two ids: an item's key and the stored form
/// of its id differ by it.
public enum IDType: UInt8, Hashable, Sendable {
    /// Text. The ids of typed sources, which hand over a `String`, are of this type.
    case string = 0
    /// A JSON number, by its text: `1` and `1.0` are two ids.
    case number = 1
}

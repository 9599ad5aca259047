/// The type of an item's id at its origin. The number 0 and the string "0" are two different ids: an item's key and the
/// stored form of its id include the type.
public enum IDType: UInt8, Hashable, Sendable {
    /// Text. Ids of typed sources, which supply a `String`, have this type.
    case string = 0
    /// A JSON number, identified by its text: `1` and `1.0` are two ids.
    case number = 1
}

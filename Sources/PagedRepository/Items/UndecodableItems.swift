/// The treatment of stored items whose bytes do not decode. Their positions stay occupied, so that no other item
/// changes its position, and `ListSnapshot.undecodable` lists them.
public enum UndecodableItems<Value: Sendable>: Sendable {
    /// `ListSnapshot.items` leaves the items out, and continues after them.
    case skip
    /// `ListSnapshot.items` contains the returned value in the place of the item.
    case placeholder(@Sendable (_ bytes: ArraySlice<UInt8>, _ error: any Error) -> Value)
    /// `ListSnapshot.items` ends before the first such item. Items after it are in `ListSnapshot.segments`.
    case stop
}

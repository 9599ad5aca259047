import PageModel

extension ItemCodec {
    /// Returns a codec that also reads items of an earlier format. Items are written in the new format only.
    ///
    /// Bytes are decoded with this codec first, so this codec must refuse bytes of the earlier format. Without a
    /// migration, items in the earlier format do not decode, and are fetched again.
    /// - Parameters:
    ///   - earlier: the codec that wrote the items.
    ///   - convert: converts an earlier value. An error makes only that item a cache miss (R7).
    public func migrating<Earlier: Sendable>(
        from earlier: any ItemCodec<Earlier>, _ convert: @escaping @Sendable (Earlier) throws -> Value
    ) -> any ItemCodec<Value> {
        MigratingCodec(current: self, earlier: earlier, convert: convert)
    }
}

private struct MigratingCodec<Current: ItemCodec, Earlier: Sendable>: ItemCodec {
    let current: Current
    let earlier: any ItemCodec<Earlier>
    let convert: @Sendable (Earlier) throws -> Current.Value

    var name: String { current.name }
    var undecodable: UndecodableItems<Current.Value> { current.undecodable }

    func encode(_ value: Current.Value) throws -> [UInt8] { try current.encode(value) }

    func decode(_ bytes: ArraySlice<UInt8>) throws -> Current.Value {
        do {
            return try current.decode(bytes)
        } catch {
            // The error of the current format is the more useful one.
            guard let value = try? convert(earlier.decode(bytes)) else { throw error }
            return value
        }
    }

    func values(of page: PageContent) -> [Current.Value]? { current.values(of: page) }
}

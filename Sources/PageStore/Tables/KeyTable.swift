import PageModel

/// A map from hashes to numbers that only grows: open addressing with linear probing.
///
/// The keys are hashes already, so one multiplication selects their place. The factor is random in each process, so
/// that chosen ids cannot crowd one place (R43). At most five eighths of the places are taken.
///
/// The map consists of several parts, each of which grows on its own. While a part is copied, only that part is in
/// memory twice. A million items take 32 MiB, and less than 48 MiB while a part grows.
struct KeyTable: Sendable {
    private static let partBits = 4
    private static let processFactor = UInt64.random(in: 0 ... .max) | 1

    // A copy, because access to a lazily initialised static costs more than the multiplication.
    private let factor = KeyTable.processFactor
    private var parts: [Part]
    /// The value of the key 0, which marks a free place and so cannot be stored in one.
    private var ofZero: Int64?

    /// The number of keys, without the key 0.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    init() { parts = Array(repeating: Part(size: 16), count: 1 << KeyTable.partBits) }

    subscript(key: UInt64) -> Int64? {
        guard key != 0 else { return ofZero }
        let product = key &* factor
        return parts[KeyTable.part(of: product)].value(of: key, product)
    }

    /// Sets the value of a key, and replaces an earlier value.
    mutating func set(_ key: UInt64, _ value: Int64) {
        guard key != 0 else { return ofZero = value }
        let product = key &* factor
        parts[KeyTable.part(of: product)].set(Part.Place(key: key, value: value), product, factor)
    }

    /// Selects the part by other bits than those that select the place inside the part.
    private static func part(of product: UInt64) -> Int { Int(product >> 32) & (1 << partBits - 1) }

    private struct Part {
        struct Place {
            var key: UInt64
            var value: Int64
        }

        /// The places; their number is a power of two. A key of 0 marks a free place.
        private var places: [Place]
        private(set) var count = 0

        init(size: Int) { places = Array(repeating: Place(key: 0, value: 0), count: size) }

        func value(of key: UInt64, _ product: UInt64) -> Int64? {
            places.withUnsafeBufferPointer { places in
                var index = Part.home(of: product, places.count)
                while places[index].key != 0 {
                    if places[index].key == key { return places[index].value }
                    index = (index + 1) & (places.count - 1)
                }
                return nil
            }
        }

        mutating func set(_ place: Place, _ product: UInt64, _ factor: UInt64) {
            if (count + 1) * 8 > places.count * 5 { grow(factor) }
            let isNew = places.withUnsafeMutableBufferPointer { Part.put(place, product, in: $0) }
            if isNew { count += 1 }
        }

        private mutating func grow(_ factor: UInt64) {
            var wider = Part(size: places.count * 2)
            wider.places.withUnsafeMutableBufferPointer { target in
                for place in places where place.key != 0 { _ = Part.put(place, place.key &* factor, in: target) }
            }
            places = wider.places
        }

        /// Returns the place at which the search for a key begins. Uses the upper bits of the product, which depend
        /// on all bits of the key.
        fileprivate static func home(of product: UInt64, _ count: Int) -> Int {
            Int(product >> UInt64(64 - count.trailingZeroBitCount))
        }

        /// Returns true when the key was not in the table.
        private static func put(_ place: Place, _ product: UInt64, in places: UnsafeMutableBufferPointer<Place>) -> Bool
        {
            var index = home(of: product, places.count)
            while places[index].key != 0 {
                if places[index].key == place.key {
                    places[index].value = place.value
                    return false
                }
                index = (index + 1) & (places.count - 1)
            }
            places[index] = place
            return true
        }
    }
}

extension KeyTable {
    /// Returns whether two of these items have the same key.
    ///
    /// Every stored page is checked, so this function uses its own table of keys without values. A table for up to 63
    /// items takes 1 KiB of the stack. A larger table is allocated.
    static func repeatsKey(_ items: [ItemIdentity]) -> Bool {
        let factor = processFactor
        let size = 2 << (Int.bitWidth - items.count.leadingZeroBitCount)
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: size) { places in
            places.initialize(repeating: 0)
            var hasZero = false
            for item in items {
                guard item.key != 0 else {
                    if hasZero { return true }
                    hasZero = true
                    continue
                }
                var index = Part.home(of: item.key &* factor, size)
                while places[index] != 0 {
                    if places[index] == item.key { return true }
                    index = (index + 1) & (size - 1)
                }
                places[index] = item.key
            }
            return false
        }
    }
}

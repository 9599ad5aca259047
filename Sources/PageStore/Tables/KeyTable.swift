import PageModel

/// A map from hashes to numbers that only grows: open addressing with linear probing.
///
/// The keys are hashes already; one multiplication says where they lie. Its factor is drawn per process, so that nobody
/// can choose ids that crowd one place (R43). At most five eighths of the places are taken.
///
/// It lies in several parts, each of which grows for itself: while a part is copied, only that part is there twice. A
/// million items take 32 MiB, and never half as much again.
struct KeyTable: Sendable {
    private static let partBits = 4
    private static let processFactor = UInt64.random(in: 0 ... .max) | 1

    // Here, too: a look at what is made once a process costs more than the multiplication.
    private let factor = KeyTable.processFactor
    private var parts: [Part]
    /// The value of the key 0, which no place can hold.
    private var ofZero: Int64?

    /// How many keys there are, 0 excepted.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    init() { parts = Array(repeating: Part(size: 16), count: 1 << KeyTable.partBits) }

    subscript(key: UInt64) -> Int64? {
        guard key != 0 else { return ofZero }
        let product = key &* factor
        return parts[KeyTable.part(of: product)].value(of: key, product)
    }

    /// Sets the value of a key, whatever it was before.
    mutating func set(_ key: UInt64, _ value: Int64) {
        guard key != 0 else { return ofZero = value }
        let product = key &* factor
        parts[KeyTable.part(of: product)].set(Part.Place(key: key, value: value), product, factor)
    }

    /// By bits that do not say where in a part a key lies.
    private static func part(of product: UInt64) -> Int { Int(product >> 32) & (1 << partBits - 1) }

    private struct Part {
        struct Place {
            var key: UInt64
            var value: Int64
        }

        /// A power of two of places; a key of 0 is a free one.
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

        /// Where a key lies if nothing is in its way: the upper bits of the product, of which all bits of the key are
        /// part.
        fileprivate static func home(of product: UInt64, _ count: Int) -> Int {
            Int(product >> UInt64(64 - count.trailingZeroBitCount))
        }

        /// True when the key was not there.
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
    /// Whether two of these items have the same key. This is asked of every page that is stored, so it looks for
    /// itself, among keys without values: a table of 1 KiB, that of up to 63 items, lies on the stack, and a larger one
    /// asks for memory.
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

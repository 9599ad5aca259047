/// A map from hashes to numbers that only grows: open addressing with linear probing over one flat buffer.
///
/// The keys are hashes already; one multiplication says where they lie. Its factor is drawn per process, so that nobody can
/// choose ids that crowd one place (R43). At most five eighths of the places are taken.
struct KeyTable: Sendable {
    private struct Place {
        var key: UInt64
        var value: Int64
    }

    /// A power of two of places; a key of 0 is a free one.
    private var places: [Place]
    private(set) var count = 0
    /// The value of the key 0, which no place can hold.
    private var ofZero: Int64?

    init(minimumCapacity: Int = 64) {
        var size = 64
        while size * 5 < minimumCapacity * 8 { size *= 2 }
        places = Array(repeating: Place(key: 0, value: 0), count: size)
    }

    subscript(key: UInt64) -> Int64? {
        if key == 0 { return ofZero }
        return places.withUnsafeBufferPointer { places in
            var index = KeyTable.home(of: key, places.count)
            while places[index].key != 0 {
                if places[index].key == key { return places[index].value }
                index = (index + 1) & (places.count - 1)
            }
            return nil
        }
    }

    /// Sets the value of a key, whatever it was before.
    mutating func set(_ key: UInt64, _ value: Int64) {
        guard key != 0 else { return ofZero = value }
        if (count + 1) * 8 > places.count * 5 { grow() }
        let isNew = places.withUnsafeMutableBufferPointer { KeyTable.put(Place(key: key, value: value), in: $0) }
        if isNew { count += 1 }
    }

    private mutating func grow() {
        var wider = KeyTable(minimumCapacity: places.count * 5 / 4)
        wider.places.withUnsafeMutableBufferPointer { target in
            for place in places where place.key != 0 { _ = KeyTable.put(place, in: target) }
        }
        places = wider.places
    }

    private static let factor = UInt64.random(in: 0 ... .max) | 1

    /// Where a key lies if nothing is in its way: the upper bits of the product, of which all bits of the key are part.
    private static func home(of key: UInt64, _ count: Int) -> Int {
        Int((key &* factor) >> UInt64(64 - count.trailingZeroBitCount))
    }

    /// True when the key was not there.
    private static func put(_ place: Place, in places: UnsafeMutableBufferPointer<Place>) -> Bool {
        var index = home(of: place.key, places.count)
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

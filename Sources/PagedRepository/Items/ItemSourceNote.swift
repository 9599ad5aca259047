#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The note that an `ItemSource` stores with a query, as JSON: the codec that its items were written with (R7).
struct ItemSourceNote: Codable, Hashable, Sendable {
    /// The value of `ItemCodec.name`.
    var codec: String

    init(codec: String) {
        self.codec = codec
    }

    /// Decodes the note of a stored `DetectedPaging`. Returns nil when another kind of source wrote it.
    init?(json: String) {
        guard let note = try? JSONDecoder().decode(ItemSourceNote.self, from: Data(json.utf8)) else { return nil }
        self = note
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // The note holds only a string, so encoding cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is stored with a query that an `ItemSource` reads, as JSON: which codec its items were written with (R7).
struct ItemSourceNote: Codable, Hashable, Sendable {
    /// `ItemCodec.name`.
    var codec: String

    init(codec: String) {
        self.codec = codec
    }

    /// The note in a stored `SourceLesson`; nil for what another kind of source has written.
    init?(json: String) {
        guard let note = try? JSONDecoder().decode(ItemSourceNote.self, from: Data(json.utf8)) else { return nil }
        self = note
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A text only: encoding cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

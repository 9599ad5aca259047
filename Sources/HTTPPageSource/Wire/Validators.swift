import PageModel

// The validators of an answer (RFC 9110, 8.8 and 13.1).
extension HTTPPageResponse {
    /// In bytes. Longer tags are not sent, because some origins refuse requests with such headers.
    private static var longestTag: Int { 4_096 }

    /// The entity tag exactly as it was sent: strong, weak, or without its quotes. `nil` when the tag cannot be used:
    /// several different tags, a bare `*` ("any", 13.1.2), bytes that are not text, or more than 4,096 bytes.
    var entityTag: String? {
        let tags = Set(values("ETag").map { $0.trimmingSpaces() })
        guard tags.count == 1, let tag = tags.first, !tag.isEmpty, tag != "*", tag.utf8.count <= Self.longestTag,
            tag.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0xFFFD })
        else { return nil }
        return tag
    }

    /// The date exactly as it was sent. `nil` for several different dates, and for a date that is not valid: such a
    /// condition would be ignored (13.1.3), so none is sent.
    var lastModified: String? {
        let dates = Set(values("Last-Modified").map { $0.trimmingSpaces() })
        guard dates.count == 1, let date = dates.first, HTTPDate.parse(date) != nil else { return nil }
        return date
    }

    /// Returns the validator that replaces the sent one after a 304 (15.4.5). Returns nil when the sent one stays.
    func renewed(_ sent: Validator) -> Validator? {
        var validator = sent
        if let entityTag {
            validator.entityTag = entityTag
            // An old date next to a new tag would belong to another state of the page.
            validator.lastModified = lastModified ?? (entityTag == sent.entityTag ? sent.lastModified : nil)
        } else if let lastModified {
            validator.lastModified = lastModified
        }
        return validator == sent ? nil : validator
    }
}

import PageModel

// What an answer can be asked about again with (RFC 9110, 8.8 and 13.1).
extension HTTPPageResponse {
    /// Longer ones are not sent back: some origins refuse requests with headers like that.
    private static var longestTag: Int { 4_096 }

    /// The entity tag exactly as it was sent: strong, weak, or without the quotes that belong to it. Nil where it could
    /// be taken for something else: several different ones, a bare `*` (13.1.2: "any"), or bytes that are not text.
    var entityTag: String? {
        let tags = Set(values("ETag").map { $0.trimmingSpaces() })
        guard tags.count == 1, let tag = tags.first, !tag.isEmpty, tag != "*", tag.utf8.count <= Self.longestTag,
            tag.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0xFFFD })
        else { return nil }
        return tag
    }

    /// The date exactly as it was sent; nil when it is none (13.1.3: such a condition is to be ignored, so it is not
    /// made).
    var lastModified: String? {
        let dates = Set(values("Last-Modified").map { $0.trimmingSpaces() })
        guard dates.count == 1, let date = dates.first, HTTPDate.parse(date) != nil else { return nil }
        return date
    }

    /// What a 304 puts in place of the validator that was sent (15.4.5); nil when it is as it was.
    func renewed(_ sent: Validator) -> Validator? {
        var validator = sent
        if let entityTag {
            validator.entityTag = entityTag
            // An old date beside a new tag would be of another state of the page.
            validator.lastModified = lastModified ?? (entityTag == sent.entityTag ? sent.lastModified : nil)
        } else if let lastModified {
            validator.lastModified = lastModified
        }
        return validator == sent ? nil : validator
    }
}

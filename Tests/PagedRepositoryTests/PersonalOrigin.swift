import PageModel
import PagedRepository

/// Numbered rows for one user. `authorize` refuses the lists of another user (R45): every list if `isOurs` is false, and
/// otherwise a list whose record names another's source.
final class PersonalOrigin: PageSource {
    let access = PagingAccess.offsets
    let usage = SourceUsage()
    private let isOurs: Bool

    init(isOurs: Bool) { self.isOurs = isOurs }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        .page(FetchedPage(content: PersonalOrigin.rows(0..<10), total: .exact(10)))
    }

    func authorize(_ list: QueryRecord) throws(FetchFailure) {
        guard isOurs, list.source != "another's" else {
            throw FetchFailure(.forbidden, "another's", isRetryable: false)
        }
    }

    static func rows(_ numbers: Range<Int>) -> PageContent {
        PageContent(numbers.map { RawItem(payload: Array(#"{"id":\#($0)}"#.utf8), id: "\($0)") })
    }
}

struct Numbered: Codable, Hashable, Sendable { var id: Int }

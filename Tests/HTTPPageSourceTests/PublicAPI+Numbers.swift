#if HTTP
import PagedRepository

@testable import HTTPPageSource

// Pages that are requested by number.
extension PublicAPI {
    /// Returns the slice of a page number.
    private static func page(_ url: OriginURL, _ name: String, _ size: Int, first: Int = 1) -> Slice {
        Slice(from: ((url.digits(name) ?? first) - first) * size, size)
    }

    static let numbered: [PublicAPI] = [
        PublicAPI(
            "GitLab: Link, and header fields for page and total", "http://h/api/v4/projects?order_by=id", size: 20,
            .grid(size: 20)
        ) { url in
            let page = page(url, "page", 20), number = page.start / 20 + 1
            let link = HTTPField(
                "Link",
                #"<http://h/api/v4/projects?order_by=id&page=1&per_page=20>; rel="first", "#
                    + #"<http://h/api/v4/projects?order_by=id&page=\#(number + 1)&per_page=20>; rel="next""#)
            return .body("[\(page.items())]", fields(number, of: 12, isLast: page.isLast) + (page.isLast ? [] : [link]))
        },
        PublicAPI("GitLab: behind a proxy that drops Link", "http://h/api/v4/projects", size: 20, .grid(size: 20)) {
            url in
            let page = page(url, "page", 20)
            return .body("[\(page.items())]", fields(page.start / 20 + 1, of: 12, isLast: page.isLast))
        },
        PublicAPI("Django REST: page numbers", "http://h/users/", size: 25, .grid(size: 25)) { url in
            let page = page(url, "page", 25)
            if page.count == 0 {
                return HTTPPageResponse(status: 404, body: Array(#"{"detail":"Invalid page."}"#.utf8))
            }
            let next = page.unlessLast(#""http://h/users/?page=\#(page.start / 25 + 2)""#)
            return .body(#"{"count":230,"next":\#(next),"previous":null,"results":[\#(page.items())]}"#)
        },
        PublicAPI(
            "Spring Data: HAL, pages from 0, items known by their links alone", "http://h/users", size: 20,
            .grid(size: 20),
            item: { #"{"name":"n","_links":{"self":{"href":"http://h/users/\#($0)"}}}"# }
        ) { url in
            let page = page(url, "page", 20, first: 0), number = page.start / 20
            let next = page.isLast ? "" : #","next":{"href":"http://h/users?page=\#(number + 1)&size=20"}"#
            let items = page.items { #"{"name":"n","_links":{"self":{"href":"http://h/users/\#($0)"}}}"# }
            return .body(
                #"{"_embedded":{"users":[\#(items)]},"_links":{"self":{"href":"http://h/users"}\#(next)},"#
                    + #""page":{"size":20,"totalElements":230,"totalPages":12,"number":\#(number)}}"#)
        },
        PublicAPI("Spring Data: a page as an object, from 0", "http://h/people", size: 20, .grid(size: 20)) { url in
            let page = page(url, "page", 20, first: 0), number = page.start / 20
            return .body(
                #"{"content":[\#(page.items())],"pageable":{"pageNumber":\#(number),"pageSize":20,"offset":\#(page.start)},"#
                    + #""last":\#(page.isLast),"totalPages":12,"totalElements":230,"size":20,"number":\#(number),"numberOfElements":\#(page.count)}"#
            )
        },
        PublicAPI(
            "JSON:API: page[number]", "http://h/articles", size: 20, .grid(size: 20),
            known: ["page[number]", "page[size]"]
        ) { url in
            let page = page(url, "page[number]", 20), number = page.start / 20 + 1
            let next = page.unlessLast(#""http://h/articles?page%5Bnumber%5D=\#(number + 1)&page%5Bsize%5D=20""#)
            return .body(
                #"{"data":[\#(page.items())],"links":{"self":"http://h/articles","next":\#(next)},"meta":{"total":230}}"#
            )
        },
        PublicAPI(
            "Algolia: hitsPerPage and nbPages, from 0", "http://h/1/indexes/places?query=", size: 20, .grid(size: 20),
            known: ["query", "page", "hitsPerPage"], item: { #"{"objectID":"\#($0)"}"# }
        ) { url in
            let page = page(url, "page", 20, first: 0)
            return .body(
                #"{"hits":[\#(page.items { #"{"objectID":"\#($0)"}"# })],"nbHits":230,"page":\#(page.start / 20),"nbPages":12,"#
                    + #""hitsPerPage":20,"exhaustiveNbHits":true,"processingTimeMS":1}"#)
        },
        PublicAPI("WordPress: X-WP-Total", "http://h/wp-json/wp/v2/posts", size: 10, .grid(size: 10)) { url in
            let page = page(url, "page", 10)
            if page.count == 0 {
                return HTTPPageResponse(status: 400, body: Array(#"{"code":"rest_post_invalid_page_number"}"#.utf8))
            }
            let link = HTTPField("link", "<http://h/wp-json/wp/v2/posts?page=\(page.start / 10 + 2)>; rel=\"next\"")
            let totals = [HTTPField("x-wp-total", "230"), HTTPField("x-wp-totalpages", "23")]
            return .body("[\(page.items())]", totals + (page.isLast ? [] : [link]))
        },
        PublicAPI("json-server: _page", "http://h/posts?_page=1&_limit=20", size: 20, .grid(size: 20)) { url in
            let page = page(url, "_page", 20)
            let link = HTTPField("Link", "<http://h/posts?_page=\(page.start / 20 + 2)&_limit=20>; rel=\"next\"")
            return .body("[\(page.items())]", [HTTPField("X-Total-Count", "230")] + (page.isLast ? [] : [link]))
        },
        PublicAPI("json-server: numbers of pages", "http://h/posts?_page=1", size: 10, .grid(size: 10)) { url in
            let page = page(url, "_page", 10)
            let next = page.unlessLast("\(page.start / 10 + 2)")
            return .body(
                #"{"first":1,"prev":null,"next":\#(next),"last":23,"pages":23,"items":230,"data":[\#(page.items())]}"#)
        },
        PublicAPI("Laravel: next_page_url", "http://h/api/users", size: 15, .grid(size: 15)) { url in
            let page = page(url, "page", 15), number = page.start / 15 + 1
            let next = page.unlessLast(#""http://h/api/users?page=\#(number + 1)""#)
            return .body(
                #"{"current_page":\#(number),"data":[\#(page.items())],"from":\#(page.start + 1),"last_page":16,"#
                    + #""links":[{"url":null,"label":"1","active":true},{"url":"http://h/api/users?page=2","label":"2","active":false}],"#
                    + #""next_page_url":\#(next),"path":"http://h/api/users","per_page":15,"to":\#(page.end),"total":230}"#
            )
        },
        PublicAPI("Strapi: pagination[page]", "http://h/api/places", size: 25, .grid(size: 25)) { url in
            let page = page(url, "pagination[page]", 25)
            return .body(
                #"{"data":[\#(page.items())],"#
                    + #""meta":{"pagination":{"page":\#(page.start / 25 + 1),"pageSize":25,"pageCount":10,"total":230}}}"#
            )
        },
        PublicAPI("Zendesk: next_page and count", "http://h/api/v2/users.json", size: 100, .grid(size: 100)) { url in
            let page = page(url, "page", 100)
            let next = page.unlessLast(#""http://h/api/v2/users.json?page=\#(page.start / 100 + 2)""#)
            return .body(#"{"users":[\#(page.items())],"next_page":\#(next),"previous_page":null,"count":230}"#)
        },
        PublicAPI("pages of 24, and a count of the page", "http://h/shop", size: 24, .grid(size: 24)) { url in
            let page = page(url, "page", 24)
            return .body(#"{"count":\#(page.count),"products":[\#(page.items())]}"#)
        },
        PublicAPI("a URL of its third page", "http://h/users/?page=3", size: 25, .grid(size: 25)) { url in
            let page = page(url, "page", 25)
            return .body(#"{"total":230,"users":[\#(page.items())]}"#)
        },
    ]

    private static func fields(_ number: Int, of pages: Int, isLast: Bool) -> [HTTPField] {
        [
            HTTPField("X-Total", "230"), HTTPField("X-Total-Pages", "\(pages)"), HTTPField("X-Page", "\(number)"),
            HTTPField("X-Per-Page", "20"),
            HTTPField("X-Prev-Page", ""), HTTPField("X-Next-Page", isLast ? "" : "\(number + 1)"),
        ]
    }
}
#endif

#if HTTP
import PagedRepository

@testable import HTTPPageSource

// Pages that are requested by the position of their first item.
extension PublicAPI {
    static let placed: [PublicAPI] = [
        PublicAPI("Django REST: limit and offset", "http://h/users/?limit=25", size: 25, .offsets) { url in
            let page = Slice(from: url.digits("offset") ?? 0, 25)
            let next = page.unlessLast(#""http://h/users/?limit=25&offset=\#(page.end)""#)
            return .body(#"{"count":230,"next":\#(next),"previous":null,"results":[\#(page.items())]}"#)
        },
        PublicAPI("a URL of its third page", "http://h/users/?limit=25&offset=50", size: 25, .offsets) { url in
            let page = Slice(from: url.digits("offset") ?? 0, 25)
            let next = page.unlessLast(#""http://h/users/?limit=25&offset=\#(page.end)""#)
            return .body(#"{"count":230,"next":\#(next),"previous":null,"results":[\#(page.items())]}"#)
        },
        PublicAPI(
            "OData: $skip in the next link", "http://h/odata/People?$count=true", size: 20, .offsets,
            known: ["$count", "$skip", "$top"]
        ) { url in
            let page = Slice(from: url.digits("$skip") ?? 0, 20)
            let next = page.isLast ? "" : #","@odata.nextLink":"http://h/odata/People?$count=true&$skip=\#(page.end)""#
            return .body(
                #"{"@odata.context":"http://h/odata/$metadata","@odata.count":230,"value":[\#(page.items())]\#(next)}"#)
        },
        PublicAPI(
            "OData: $top, and so no next link", "http://h/odata/People?$top=20&$count=true", size: 20, .offsets,
            known: ["$count", "$skip", "$top"]
        ) { url in
            let page = Slice(from: url.digits("$skip") ?? 0, url.digits("$top") ?? 20)
            return .body(#"{"@odata.count":230,"value":[\#(page.items())]}"#)
        },
        PublicAPI("json-server: _limit alone", "http://h/posts?_limit=20", size: 20, .offsets) { url in
            let start = url.digits("_start") ?? ((url.digits("_page") ?? 1) - 1) * 20
            return .body("[\(Slice(from: start, 20).items())]", [HTTPField("X-Total-Count", "230")])
        },
        PublicAPI("Solr: start, rows, numFound", "http://h/solr/places/select?q=*:*", size: 10, .offsets) { url in
            let page = Slice(from: url.digits("start") ?? 0, 10)
            return .body(
                #"{"responseHeader":{"status":0,"QTime":1,"params":{"q":"*:*"}},"#
                    + #""response":{"numFound":230,"start":\#(page.start),"numFoundExact":true,"docs":[\#(page.items())]}}"#
            )
        },
        PublicAPI(
            "CKAN: result.results, and a start that no member shows", "http://h/api/3/action/package_search", size: 10,
            .offsets
        ) { url in
            let page = Slice(from: url.digits("start") ?? 0, 10)
            return .body(
                #"{"help":"http://h/api/3/action/help_show?name=package_search","success":true,"#
                    + #""result":{"count":230,"facets":{},"results":[\#(page.items())],"sort":"score desc","search_facets":{}}}"#
            )
        },
        PublicAPI(
            "CKAN: a next link on every page, the last one too", "http://h/api/3/action/datastore_search?id=r",
            size: 100, .offsets
        ) { url in
            let page = Slice(from: url.digits("offset") ?? 0, 100)
            let next = "/api/3/action/datastore_search?id=r&offset=\(page.start + 100)"
            return .body(
                #"{"success":true,"result":{"limit":100,"fields":[{"id":"_id","type":"int"},{"id":"name","type":"text"}],"#
                    + #""records":[\#(page.items())],"_links":{"start":"/api/3/action/datastore_search?id=r","next":"\#(next)"},"total":230}}"#
            )
        },
        PublicAPI(
            "Elasticsearch: from and size, with more shards than items", "http://h/places/_search", size: 10, .offsets,
            known: ["from", "size", "q", "sort"], item: { #"{"_id":"i\#($0)","_score":1.0,"_source":{"n":\#($0)}}"# }
        ) { url in
            let page = Slice(from: url.digits("from") ?? 0, 10)
            let items = page.items { #"{"_id":"i\#($0)","_score":1.0,"_source":{"n":\#($0)}}"# }
            return .body(
                #"{"took":3,"timed_out":false,"_shards":{"total":12,"successful":12,"skipped":0,"failed":0},"#
                    + #""hits":{"total":{"value":230,"relation":"eq"},"max_score":1.0,"hits":[\#(items)]}}"#)
        },
        PublicAPI(
            "SCIM: positions from 1", "http://h/scim/v2/Users", size: 20, .offsets,
            known: ["startIndex", "count", "filter"]
        ) { url in
            let page = Slice(from: (url.digits("startIndex") ?? 1) - 1, 20)
            return .body(
                #"{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":230,"#
                    + #""itemsPerPage":20,"startIndex":\#(page.start + 1),"Resources":[\#(page.items())]}"#)
        },
        PublicAPI("positions from 1, which no member shows", "http://h/search?q=a", size: 10, .offsets) { url in
            let page = Slice(from: (url.digits("start") ?? 1) - 1, 10)
            return .body(#"{"totalResults":"230","items":[\#(page.items())]}"#)
        },
        PublicAPI("Jira: startAt", "http://h/rest/api/2/search?jql=a", size: 50, .offsets) { url in
            let page = Slice(from: url.digits("startAt") ?? 0, 50)
            return .body(
                #"{"expand":"names","startAt":\#(page.start),"maxResults":50,"total":230,"issues":[\#(page.items())]}"#)
        },
        PublicAPI("Contentful: skip", "http://h/spaces/s/entries", size: 100, .offsets, known: ["skip", "limit"]) {
            url in
            let page = Slice(from: url.digits("skip") ?? 0, 100)
            return .body(
                #"{"sys":{"type":"Array"},"total":230,"skip":\#(page.start),"limit":100,"items":[\#(page.items())]}"#)
        },
        PublicAPI("Bitbucket: nextPageStart, and no total", "http://h/rest/api/1.0/projects", size: 25, .offsets) {
            url in
            let page = Slice(from: url.digits("start") ?? 0, 25)
            return .body(
                #"{"size":\#(page.count),"limit":25,"isLastPage":\#(page.isLast),"values":[\#(page.items())],"#
                    + #""start":\#(page.start),"nextPageStart":\#(page.unlessLast("\(page.end)"))}"#)
        },
        PublicAPI("Directus: an array, and nothing else", "http://h/items/places", size: 100, .offsets) { url in
            .body(#"{"data":[\#(Slice(from: url.digits("offset") ?? 0, 100).items())]}"#)
        },
    ]
}
#endif

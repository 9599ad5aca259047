#if HTTP
import PagedRepository

@testable import HTTPPageSource

// Pages that lead to the next page by a URL, a token, an object, or their last item.
extension PublicAPI {
    /// Returns the slice from the item whose number the parameter contains, ignoring other characters.
    private static func at(_ url: OriginURL, _ name: String, _ size: Int) -> Slice {
        Slice(from: url.digits(name) ?? 0, size)
    }

    /// Returns the slice after the item that the parameter names.
    private static func behind(_ url: OriginURL, _ name: String, _ size: Int) -> Slice {
        Slice(from: url.digits(name).map { $0 + 1 } ?? 0, size)
    }

    static let linked: [PublicAPI] = [
        PublicAPI("GitHub: Link, and no total", "http://h/repos/o/r/issues?state=all", size: 30, .chain) { url in
            github(url, 30)
        },
        PublicAPI(
            "GitHub: a page size above its maximum of 100", "http://h/repos/o/r/issues?per_page=500", size: 100, .chain
        ) { url in
            github(url, min(url.digits("per_page") ?? 30, 100))
        },
        PublicAPI("OData: $skiptoken", "http://h/odata/People", size: 20, .chain) { url in
            let page = at(url, "$skiptoken", 20)
            let next = page.isLast ? "" : #","@odata.nextLink":"http://h/odata/People?$skiptoken=\#(page.end)""#
            return .body(#"{"@odata.context":"http://h/odata/$metadata","value":[\#(page.items())]\#(next)}"#)
        },
        PublicAPI("HubSpot: paging.next.link", "http://h/crm/v3/objects/contacts", size: 10, .chain) { url in
            let page = at(url, "after", 10)
            let next =
                #","paging":{"next":{"after":"\#(page.end)","link":"http://h/crm/v3/objects/contacts?after=\#(page.end)"}}"#
            return .body(#"{"results":[\#(page.items())]\#(page.isLast ? "" : next)}"#)
        },
        PublicAPI(
            "Shopify: page_info, which excludes other parameters", "http://h/admin/api/products.json?status=active",
            size: 50, .chain
        ) { url in
            if url.value(of: "page_info") != nil, url.value(of: "status") != nil {
                return HTTPPageResponse(status: 400)
            }
            let page = at(url, "page_info", 50)
            let link = HTTPField(
                "Link", "<http://h/admin/api/products.json?limit=50&page_info=c\(page.end)>; rel=\"next\"")
            return .body(#"{"products":[\#(page.items())]}"#, page.isLast ? [] : [link])
        },
        PublicAPI(
            "Zendesk: links.next although has_more is false", "http://h/api/v2/tickets?page[size]=100",
            size: 100, .chain
        ) { url in
            let page = at(url, "page[after]", 100)
            let next = "http://h/api/v2/tickets?page%5Bafter%5D=c\(page.end)&page%5Bsize%5D=100"
            return .body(
                #"{"tickets":[\#(page.items())],"meta":{"has_more":\#(!page.isLast),"after_cursor":"c\#(page.end)"},"#
                    + #""links":{"prev":null,"next":"\#(next)"}}"#)
        },
        PublicAPI(
            "Salesforce: nextRecordsUrl at another path, and done", "http://h/services/data/query?q=a", size: 100,
            .chain
        ) { url in
            let page = Slice(from: url.path.split(separator: "-").dropFirst().first.flatMap { Int($0) } ?? 0, 100)
            let next = page.isLast ? "" : #","nextRecordsUrl":"/services/data/query/01g-\#(page.end)""#
            return .body(#"{"totalSize":230,"done":\#(page.isLast)\#(next),"records":[\#(page.items())]}"#)
        },
        PublicAPI(
            "Asana: next_page.uri", "http://h/api/1.0/tasks?project=1", size: 20, .chain, known: ["project", "offset"]
        ) { url in
            let page = at(url, "offset", 20), query = "project=1&offset=eyJ\(page.end)"
            let next =
                #"{"offset":"eyJ\#(page.end)","path":"/tasks?\#(query)","uri":"http://h/api/1.0/tasks?\#(query)"}"#
            return .body(#"{"data":[\#(page.items())],"next_page":\#(page.unlessLast(next))}"#)
        },
    ]

    private static func github(_ url: OriginURL, _ size: Int) -> HTTPPageResponse {
        let number = url.digits("page") ?? 1, page = Slice(from: (number - 1) * size, size)
        var next = url
        if url.value(of: "per_page") != nil { next.set("per_page", "\(size)") }
        next.set("page", "\(number + 1)")
        let link = HTTPField("Link", "<\(next.text)>; rel=\"next\", <http://h/repos/o/r/issues?page=99>; rel=\"last\"")
        return .body("[\(page.items())]", page.isLast ? [] : [link])
    }

    static let tokens: [PublicAPI] = [
        PublicAPI(
            "MediaWiki: continue", "http://h/w/api.php?action=query&list=allpages", size: 10, .chain,
            item: { #"{"pageid":\#($0),"ns":0}"# }
        ) { url in
            let page = at(url, "apcontinue", 10)
            let next = page.isLast ? "" : #""continue":{"apcontinue":"T\#(page.end)","continue":"-||"},"#
            return .body(
                #"{"batchcomplete":"",\#(next)"query":{"allpages":[\#(page.items { #"{"pageid":\#($0),"ns":0}"# })]}}"#)
        },
        PublicAPI(
            "Notion: next_cursor into start_cursor", "http://h/v1/users", size: 100, .chain,
            known: ["start_cursor", "page_size"]
        ) { url in
            let page = at(url, "start_cursor", 100)
            return .body(
                #"{"object":"list","results":[\#(page.items())],"next_cursor":\#(page.unlessLast("\"c-\(page.end)\"")),"#
                    + #""has_more":\#(!page.isLast),"type":"user"}"#)
        },
        PublicAPI(
            "Twitter: meta.next_token into pagination_token", "http://h/2/users/1/followers", size: 100, .chain,
            known: ["pagination_token", "max_results"]
        ) { url in
            let page = at(url, "pagination_token", 100)
            let next = page.isLast ? "" : #","next_token":"t\#(page.end)""#
            return .body(#"{"data":[\#(page.items())],"meta":{"result_count":\#(page.count)\#(next)}}"#)
        },
        PublicAPI(
            "HubSpot: paging.next.after without a link", "http://h/crm/v3/owners", size: 10, .chain,
            known: ["after", "limit"]
        ) { url in
            let page = at(url, "after", 10)
            return .body(
                #"{"results":[\#(page.items())]\#(page.isLast ? "" : #","paging":{"next":{"after":"\#(page.end)"}}"#)}"#
            )
        },
        PublicAPI("DynamoDB: LastEvaluatedKey as an object", "http://h/items", size: 20, .chain) { url in
            let page = behind(url, "ExclusiveStartKey", 20)
            let key = page.isLast ? "" : #","LastEvaluatedKey":{"id":{"S":"i\#(page.end - 1)"}}"#
            return .body(
                #"{"Items":[\#(page.items())],"Count":\#(page.count),"ScannedCount":\#(page.count + 37)\#(key)}"#)
        },
        PublicAPI(
            "DynamoDB: lastEvaluatedKey as a token", "http://h/items", size: 20, .chain, known: ["lastEvaluatedKey"]
        ) { url in
            let page = at(url, "lastEvaluatedKey", 20)
            return .body(#"{"items":[\#(page.items())],"lastEvaluatedKey":\#(page.unlessLast("\"k\(page.end)\""))}"#)
        },
        PublicAPI(
            "Kubernetes: metadata.continue and remainingItemCount", "http://h/api/v1/pods?limit=20", size: 20, .chain,
            known: ["limit", "continue"]
        ) { url in
            let page = at(url, "continue", 20)
            let rest =
                page.isLast
                ? #""continue":"""# : #""continue":"t\#(page.end)","remainingItemCount":\#(count - page.end)"#
            return .body(#"{"kind":"PodList","metadata":{"resourceVersion":"1",\#(rest)},"items":[\#(page.items())]}"#)
        },
        PublicAPI(
            "YouTube: nextPageToken and a total", "http://h/youtube/v3/search?part=id", size: 25, .chain,
            known: ["part", "pageToken"]
        ) { url in
            let page = at(url, "pageToken", 25)
            let next = page.isLast ? "" : #""nextPageToken":"CA\#(page.end)","#
            return .body(
                #"{"kind":"list",\#(next)"pageInfo":{"totalResults":230,"resultsPerPage":25},"items":[\#(page.items())]}"#
            )
        },
        PublicAPI("Intercom: pages.next as an object", "http://h/contacts", size: 50, .chain) { url in
            let page = at(url, "starting_after", 50)
            let next = page.unlessLast(#"{"page":\#(page.end / 50 + 1),"starting_after":"k\#(page.end)"}"#)
            return .body(
                #"{"type":"list","data":[\#(page.items())],"total_count":230,"#
                    + #""pages":{"type":"pages","next":\#(next),"page":\#(page.start / 50 + 1),"per_page":50,"total_pages":5}}"#
            )
        },
        PublicAPI(
            "Airtable: offset, which is a token", "http://h/v0/app/Table", size: 100, .chain,
            known: ["offset", "pageSize"]
        ) { url in
            let page = at(url, "offset", 100)
            return .body(#"{"records":[\#(page.items())]\#(page.isLast ? "" : #","offset":"itr\#(page.end)/rec""#)}"#)
        },
        PublicAPI(
            "Reddit: after", "http://h/r/swift/new.json", size: 20, .chain,
            item: { #"{"kind":"t3","data":{"name":"t_\#($0)"}}"# }
        ) { url in
            let page = at(url, "after", 20), items = page.items { #"{"kind":"t3","data":{"name":"t_\#($0)"}}"# }
            return .body(
                #"{"kind":"Listing","data":{"after":\#(page.unlessLast("\"t_\(page.end)\"")),"dist":\#(page.count),"#
                    + #""children":[\#(items)],"before":null}}"#)
        },
        PublicAPI(
            "edges with cursors, and a page_info", "http://h/people", size: 20, .chain,
            item: { #"{"cursor":"c\#($0)","node":{"n":\#($0)}}"# }
        ) { url in
            let page = behind(url, "after", 20), items = page.items { #"{"cursor":"c\#($0)","node":{"n":\#($0)}}"# }
            return .body(
                #"{"edges":[\#(items)],"page_info":{"has_next_page":\#(!page.isLast),"end_cursor":"c\#(page.end - 1)"},"total_count":230}"#
            )
        },
    ]

    static let keyed: [PublicAPI] = [
        PublicAPI(
            "Stripe: has_more and starting_after", "http://h/v1/customers", size: 10, .chain,
            known: ["limit", "starting_after", "ending_before"]
        ) { url in
            let page = behind(url, "starting_after", 10)
            return .body(
                #"{"object":"list","url":"/v1/customers","has_more":\#(!page.isLast),"data":[\#(page.items())]}"#)
        },
        PublicAPI(
            "Elasticsearch: search_after takes each item's sort value", "http://h/places/_search?sort=n", size: 10,
            .chain,
            known: ["sort", "size", "search_after"],
            item: { #"{"_id":"i\#($0)","_source":{"n":\#($0)},"sort":[\#($0)]}"# }
        ) { url in
            let page = behind(url, "search_after", 10),
                items = page.items { #"{"_id":"i\#($0)","_source":{"n":\#($0)},"sort":[\#($0)]}"# }
            return .body(
                #"{"took":3,"timed_out":false,"_shards":{"total":1,"failed":0},"#
                    + #""hits":{"total":{"value":230,"relation":"eq"},"hits":[\#(items)]}}"#)
        },
    ]
}
#endif

#if Tool
public import ArgumentParser
public import HTTPPageSource

extension HTTPSourceConfiguration.Paging: ExpressibleByArgument {}

extension JSONPointer: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension HTTPSourceConfiguration.Place: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

/// The settings for an origin. Settings that are left out are detected.
struct SourceOptions: ParsableArguments {
    @Option(help: "The paging style: auto, offset, page, cursor, keyset, link, next-url or none.")
    var paging: HTTPSourceConfiguration.Paging = .auto
    @Option(help: ArgumentHelp("The place of the items.", valueName: "pointer"))
    var items: JSONPointer?
    @Option(help: ArgumentHelp("The place of the id inside an item.", valueName: "pointer"))
    var id: JSONPointer?
    @Option(help: ArgumentHelp("The place of the total.", valueName: "pointer|header:NAME"))
    var total: HTTPSourceConfiguration.Place?
    @Option(
        help: ArgumentHelp(
            "The place of the next URL or of the token for the next page.", valueName: "pointer|header:NAME"))
    var next: HTTPSourceConfiguration.Place?
    @Option(help: ArgumentHelp("The place of the flag that more pages follow.", valueName: "pointer"))
    var hasMore: JSONPointer?
    @Option(help: "The number of items to request per page.")
    var pageSize: Int?
    @Option(help: ArgumentHelp("The parameter for the page size.", valueName: "name"))
    var limitParam: String?
    @Option(help: ArgumentHelp("The parameter for the offset.", valueName: "name"))
    var offsetParam: String?
    @Option(help: ArgumentHelp("The parameter for the page number.", valueName: "name"))
    var pageParam: String?
    @Option(help: "The number of page one, 0 or 1.")
    var firstPage: Int?
    @Option(help: ArgumentHelp("The parameter for the token or the last id.", valueName: "name"))
    var cursorParam: String?
    @OptionGroup var credentials: CredentialOptions
    @Option(help: "The key of the query, instead of its URL.")
    var key: String?
    @Option(help: "The tenant, account or locale of the list.")
    var scope: String?
    @Option(help: ArgumentHelp("The most time for one request.", valueName: "duration"))
    var timeout: DurationArgument?

    func validate() throws {
        if let pageSize, !(1...100_000).contains(pageSize) {
            throw ValidationError("--page-size must be from 1 to 100000")
        }
        if let firstPage, firstPage != 0, firstPage != 1 { throw ValidationError("--first-page must be 0 or 1") }
        if let timeout, timeout.duration < .milliseconds(1) {
            throw ValidationError("--timeout must be more than nothing")
        }
        for name in pagingParameters where name.isEmpty { throw ValidationError("a parameter needs a name") }
    }

    /// The given names of paging parameters, which are no part of the identity of a list.
    var pagingParameters: [String] { [limitParam, offsetParam, pageParam, cursorParam].compactMap { $0 } }

    func configuration(url: String) throws -> HTTPSourceConfiguration {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.paging = paging
        configuration.items = items
        configuration.id = id
        configuration.total = total
        configuration.next = next
        configuration.hasMore = hasMore
        configuration.limitParameter = limitParam
        configuration.offsetParameter = offsetParam
        configuration.pageParameter = pageParam
        configuration.firstPage = firstPage
        configuration.cursorParameter = cursorParam
        if let timeout { configuration.limits.requestTimeout = timeout.duration }
        let credential = try credentials.read()
        configuration.headers = credential.fields
        configuration.secretHeaders.formUnion(credential.secretHeaders)
        return configuration
    }
}
#endif

#if Tool
public import ArgumentParser
import Foundation
public import HTTPPageSource

extension HTTPSourceConfiguration.Paging: ExpressibleByArgument {}

extension JSONPointer: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension HTTPSourceConfiguration.Place: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

/// What can be said about an origin; all of it is detected where it is not said.
struct SourceOptions: ParsableArguments {
    @Option(help: "How pages follow one another: auto, offset, page, cursor, keyset, link, next-url or none.")
    var paging: HTTPSourceConfiguration.Paging = .auto
    @Option(help: ArgumentHelp("Where the items are.", valueName: "pointer"))
    var items: JSONPointer?
    @Option(help: ArgumentHelp("Where an item's id is, below the item.", valueName: "pointer"))
    var id: JSONPointer?
    @Option(help: ArgumentHelp("Where the total is.", valueName: "pointer|header:NAME"))
    var total: HTTPSourceConfiguration.Place?
    @Option(help: ArgumentHelp("Where the next URL, or the token for the next page, is.", valueName: "pointer|header:NAME"))
    var next: HTTPSourceConfiguration.Place?
    @Option(help: ArgumentHelp("Where it says whether there is more.", valueName: "pointer"))
    var hasMore: JSONPointer?
    @Option(help: "Items to ask for per page.")
    var pageSize: Int?
    @Option(help: ArgumentHelp("The parameter for items per page.", valueName: "name"))
    var limitParam: String?
    @Option(help: ArgumentHelp("The parameter for the offset.", valueName: "name"))
    var offsetParam: String?
    @Option(help: ArgumentHelp("The parameter for the page number.", valueName: "name"))
    var pageParam: String?
    @Option(help: "The number of page one, 0 or 1.")
    var firstPage: Int?
    @Option(help: ArgumentHelp("The parameter for the token, or for the last item's id.", valueName: "name"))
    var cursorParam: String?
    @Option(help: ArgumentHelp("A header to send; repeatable.", valueName: "Name: value"))
    var header: [String] = []
    @Option(help: ArgumentHelp("A header whose value is in an environment variable; repeatable.", valueName: "Name=VAR"))
    var headerEnv: [String] = []
    @Option(help: ArgumentHelp("Send 'Authorization: Bearer' with the value of this variable.", valueName: "VAR"))
    var bearerEnv: String?
    @Option(help: "The key to store the list under, instead of its URL.")
    var key: String?
    @Option(help: "Tenant, account or locale the list belongs to.")
    var scope: String?
    @Option(help: ArgumentHelp("How long one request may take in all.", valueName: "duration"))
    var timeout: DurationArgument?

    func validate() throws {
        if let pageSize, !(1...100_000).contains(pageSize) { throw ValidationError("--page-size must be from 1 to 100000") }
        if let firstPage, firstPage != 0, firstPage != 1 { throw ValidationError("--first-page must be 0 or 1") }
        if let timeout, timeout.duration < .milliseconds(1) { throw ValidationError("--timeout must be more than nothing") }
        for name in pagingParameters where name.isEmpty { throw ValidationError("a parameter needs a name") }
        for field in header where !field.contains(":") { throw ValidationError("--header takes 'Name: value', not '\(field.prefix(20))'") }
        for field in headerEnv where !field.contains("=") { throw ValidationError("--header-env takes 'Name=VAR'") }
    }

    /// Paging parameters by name, which are no part of what a list is.
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
        configuration.headers = try header.map { field in
            let parts = field.split(separator: ":", maxSplits: 1)
            let name = parts[0].trimmingCharacters(in: .whitespaces)
            if ["authorization", "cookie", "x-api-key"].contains(name.lowercased()) {
                Terminal.standard.warn("a secret in --header can be seen by others on this machine; --header-env keeps it out of sight")
            }
            return try self.field(name, parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        for field in headerEnv {
            let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
            configuration.headers.append(try self.field(parts[0], try variable(parts.count > 1 ? parts[1] : "")))
            // Who keeps a value out of sight means it to be a secret, whatever the header is called (R45).
            configuration.secretHeaders.insert(parts[0])
        }
        if let bearerEnv { configuration.headers.append(try field("Authorization", "Bearer \(try variable(bearerEnv))")) }
        return configuration
    }

    private func field(_ name: String, _ value: String) throws -> HTTPField {
        // RFC 9110, 5.5: a line break in a value would begin another field.
        guard !name.isEmpty, !(name + value).unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ToolFailure(.usage, "usage", "the header '\(Printable.text(name))' cannot be sent")
        }
        return HTTPField(name, value)
    }

    private func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
            throw ToolFailure(.usage, "usage", "the variable \(name) is not set")
        }
        return value
    }
}
#endif

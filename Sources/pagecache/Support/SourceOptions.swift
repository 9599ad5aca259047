#if Tool
public import ArgumentParser
public import HTTPPageSource
import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPSourceConfiguration.Paging: ExpressibleByArgument {}

extension HTTPSourceConfiguration.Method: ExpressibleByArgument {
    public init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

extension JSONPointer: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension HTTPSourceConfiguration.Place: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

/// The settings for an origin. Settings that are left out are detected.
struct SourceOptions: ParsableArguments {
    @Option(help: "The paging style: auto, offset, page, cursor, keyset, link, next-url or none.")
    var paging: HTTPSourceConfiguration.Paging?
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
    @Option(help: ArgumentHelp("The number of items to request per page.", valueName: "n"))
    var pageSize: Int?
    @Option(help: ArgumentHelp("The parameter for the page size.", valueName: "name"))
    var limitParam: String?
    @Option(help: ArgumentHelp("The parameter for the offset.", valueName: "name"))
    var offsetParam: String?
    @Option(help: ArgumentHelp("The parameter for the page number.", valueName: "name"))
    var pageParam: String?
    @Option(help: ArgumentHelp("The number of page one.", valueName: "0|1"))
    var firstPage: Int?
    @Option(help: ArgumentHelp("The parameter for the token or the last id.", valueName: "name"))
    var cursorParam: String?
    @Option(
        help: ArgumentHelp(
            "The HTTP method. POST is for a search whose parameters are in a JSON body.", valueName: "GET|POST"))
    var method: HTTPSourceConfiguration.Method?
    @Option(help: ArgumentHelp("The JSON object that POST sends, from a file.", valueName: "file"), completion: .file())
    var body: String?
    @Option(
        help: ArgumentHelp(
            "Where the cursor, or with --paging the offset or page, goes in the body.", valueName: "pointer"))
    var cursorIn: JSONPointer?
    @OptionGroup var credentials: CredentialOptions
    @Option(help: ArgumentHelp("The key of the query, instead of its URL.", valueName: "name"))
    var key: String?
    @Option(help: ArgumentHelp("The tenant, account or locale of the list.", valueName: "name"))
    var scope: String?
    @Option(
        help: ArgumentHelp("A PEM file with the only certificate authorities to trust.", valueName: "file"),
        completion: .file())
    var cacert: String?
    @Option(help: ArgumentHelp("The time limit for one request. Default: 60s.", valueName: "duration"))
    var timeout: DurationArgument?

    func validate() throws {
        if let pageSize, !(1...100_000).contains(pageSize) {
            throw ValidationError("--page-size is \(pageSize)")
        }
        if let firstPage, firstPage != 0, firstPage != 1 {
            throw ValidationError("--first-page is \(firstPage)")
        }
        if let timeout, timeout.duration < .milliseconds(1) {
            throw ValidationError("--timeout must be at least 1ms, and is \(timeout.defaultValueDescription)")
        }
        if method != .post, body != nil || cursorIn != nil {
            throw ValidationError("--body and --cursor-in require --method POST")
        }
        for name in pagingParameters where name.isEmpty { throw ValidationError("a parameter needs a name") }
    }

    /// The given names of paging parameters, which are no part of the identity of a list.
    var pagingParameters: [String] { [limitParam, offsetParam, pageParam, cursorParam].compactMap { $0 } }

    /// The proxies and the trusted authorities: `--cacert`, and the usual variables of the environment.
    func network() throws -> HTTPNetwork { try SourceOptions.network(cacert: cacert) }

    /// The proxies and the trusted authorities.
    /// - Throws: `ToolFailure` with status 64 when a variable or the file cannot be used.
    static func network(cacert: String? = nil) throws -> HTTPNetwork {
        do {
            var network = try HTTPNetwork(environment: ProcessInfo.processInfo.environment)
            network.certificates = cacert ?? network.certificates
            if let file = network.certificates, let problem = CertificateFile.problem(at: file) {
                throw ToolFailure(
                    .usage, "usage", "the file of trusted certificates \(problem): '\(file)'",
                    hint: cacert == nil ? "SSL_CERT_FILE names it" : nil)
            }
            return network
        } catch let failure as FetchFailure {
            throw ToolFailure(.usage, "usage", failure.message)
        }
    }

    /// The settings with the caller's credential. Its files are read here, once.
    func configuration(url: String) throws -> HTTPSourceConfiguration {
        try adding(credentials.read(), to: plain(url: url))
    }

    func adding(_ credential: Credential, to plain: HTTPSourceConfiguration) -> HTTPSourceConfiguration {
        var configuration = plain
        configuration.headers = credential.fields
        configuration.secretHeaders.formUnion(credential.secretHeaders)
        return configuration
    }

    /// The settings without a credential. The file of the body is read here, once.
    func plain(url: String) throws -> HTTPSourceConfiguration {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.paging = paging ?? .auto
        configuration.detectsAnew = paging == .auto
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
        configuration.method = method ?? .get
        configuration.cursorIn = cursorIn
        if let body {
            guard let data = FileManager.default.contents(atPath: body) else {
                throw ToolFailure(.usage, "usage", "the file of --body cannot be read: '\(body)'")
            }
            configuration.body = Array(data)
        }
        if let timeout { configuration.limits.requestTimeout = timeout.duration }
        return configuration
    }
}
#endif

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

/// The settings for an origin. Paging settings that are left out are detected.
struct SourceOptions: ParsableArguments {
    @Option(help: "The paging style: auto, offset, page, cursor, keyset, link, next-url or none.")
    var paging: HTTPSourceConfiguration.Paging?
    @Option(help: ArgumentHelp("The place of the items: a JSON Pointer, such as /data/items.", valueName: "pointer"))
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
            "The place of the cursor in the body. With --paging offset or page: the place of the offset or the page number.",
            valueName: "pointer"))
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
        if method == .get { try checkBody(of: .get) }
        if let paging, let other = excluded(by: paging) {
            throw ValidationError("--paging \(paging.rawValue) and \(other) exclude each other; name one of them")
        }
        let names = [
            ("--limit-param", limitParam), ("--offset-param", offsetParam), ("--page-param", pageParam),
            ("--cursor-param", cursorParam),
        ]
        for (option, name) in names where name?.isEmpty == true {
            throw ValidationError("\(option) is empty; give the name of a parameter of the URL")
        }
    }

    /// Throws a `ValidationError` if an option for the body is given, and requests with this method have no body. The
    /// method of a stored list is known only after its record was read.
    func checkBody(of method: HTTPSourceConfiguration.Method) throws(ValidationError) {
        guard method != .post, let given = body.map({ "--body '\($0)'" }) ?? cursorIn.map({ "--cursor-in '\($0)'" })
        else { return }
        throw ValidationError("\(given) needs --method POST; a GET request has no body")
    }

    /// The first given option for a part of requests or answers that this paging style does not use. `nil` when none is
    /// given.
    private func excluded(by paging: HTTPSourceConfiguration.Paging) -> String? {
        let (offset, page) = (("--offset-param", offsetParam != nil), ("--page-param", pageParam != nil))
        let cursor = ("--cursor-param", cursorParam != nil)
        let others: [(String, Bool)] =
            switch paging {
            case .offset: [page, cursor]
            case .page: [offset, cursor]
            case .cursor, .keyset: [offset, page]
            case .none: [offset, page, cursor, ("--next", next != nil), ("--has-more", hasMore != nil)]
            case .auto, .link, .nextURL: []
            }
        return others.first { $0.1 }?.0
    }

    /// The first given option that describes one origin. `nil` when none is given.
    var firstDescribing: String? {
        let given = [
            ("--paging", paging != nil), ("--items", items != nil), ("--id", id != nil), ("--total", total != nil),
            ("--next", next != nil), ("--has-more", hasMore != nil), ("--limit-param", limitParam != nil),
            ("--offset-param", offsetParam != nil), ("--page-param", pageParam != nil),
            ("--first-page", firstPage != nil), ("--cursor-param", cursorParam != nil), ("--method", method != nil),
            ("--body", body != nil), ("--cursor-in", cursorIn != nil),
        ]
        return given.first { $0.1 }?.0
    }

    /// The given names of paging parameters, which are not part of the identity of a list.
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
                let name = cacert == nil ? "SSL_CERT_FILE" : "--cacert"
                throw ToolFailure(
                    .usage, "usage", "\(name): the file '\(Printable.text(file))' \(problem)",
                    hint: "name a file with the certificates of trusted authorities")
            }
            return network
        } catch let failure as FetchFailure {
            throw ToolFailure(.usage, "usage", failure.message)
        }
    }

    /// The settings with the caller's credential. The files of the credential are read here, once.
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
        configuration.hasOwnMethod = method != nil
        configuration.cursorIn = cursorIn
        if let body {
            let file = try OptionFile(body, of: "--body", holding: "the JSON object", atMost: 16 << 20)
            guard let bytes = file.bytes else {
                throw ToolFailure(
                    .usage, "usage", "\(file.name) is not a file of at most 16 MiB",
                    hint: "name the file that holds the JSON object")
            }
            configuration.body = bytes
        }
        if let timeout { configuration.limits.requestTimeout = timeout.duration }
        return configuration
    }
}
#endif

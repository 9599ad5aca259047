// A list API for the other examples: slow, with failures, and growing. The server listens on the loopback interface
// only.
//
//     swift run --package-path Examples Upstream [articles=1000] [delay=300] [fails=7] [grows=0] [port=9000]
//
// `delay` is the time before each answer in milliseconds. Every request whose number is a multiple of `fails` is
// answered with 503. An article is inserted every `grows` seconds. `fails=0` and `grows=0` switch these off.
import Foundation
import Hummingbird
import Logging
import Synchronization

@main
struct Upstream {
    static func main() async throws {
        var settings = ["articles": 1_000, "delay": 300, "fails": 7, "grows": 0, "port": 9_000]
        for argument in CommandLine.arguments.dropFirst() {
            let parts = argument.split(separator: "=")
            guard parts.count == 2, let value = Int(parts[1]), value >= 0, settings[String(parts[0])] != nil else {
                print("not understood: \(argument)")
                exit(64)
            }
            settings[String(parts[0])] = value
        }
        let articles = Articles(count: settings["articles"]!, secondsForOneMore: settings["grows"]!)
        let delay = Duration.milliseconds(settings["delay"]!)
        let fails = settings["fails"]!
        let asked = Counted()

        let router = Router()
        router.get("articles") { request, context -> Response in
            let number = asked.next()
            context.logger.info("asked for \(request.uri)")
            try await Task.sleep(for: delay)
            if fails > 0, number.isMultiple(of: fails) { throw HTTPError(.serviceUnavailable) }
            let parameters = request.uri.queryParameters
            let page = articles.page(
                offset: parameters["offset"].flatMap { Int($0) } ?? 0,
                limit: parameters["limit"].flatMap { Int($0) } ?? 50)
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(string: page)))
        }
        let address = BindAddress.hostname("127.0.0.1", port: settings["port"]!)
        let application = Application(
            router: router, configuration: .init(address: address), logger: Logger(label: "upstream"))
        try await application.runService()
    }
}

/// The number of requests so far.
private final class Counted: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

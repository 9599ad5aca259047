#if Tool
import HostileOrigin
import PageModel

/// Answers that lead to another place (R45).
extension Trouble {
    /// URLs outside the origin.
    private static let outside: [(name: String, url: @Sendable (String) -> String)] = [
        ("another origin", { "\($0)/list?after=3" }),
        ("another origin, with the scheme left out", { "\($0.dropFirst("http:".count))/list?after=3" }),
        (
            "another origin, with its own name in front",
            { "http://127.0.0.1:80@\($0.dropFirst("http://".count))/list?after=3" }
        ),
        ("a file", { _ in "file:///etc/passwd" }),
        ("a script", { _ in "javascript:alert(1)" }),
        ("its data", { _ in "data:application/json,[]" }),
        ("a host that is none", { _ in "http://[::1/list" }),
        ("no host", { _ in "http:///list" }),
    ]

    static let redirects: [Trouble] =
        outside.map { place in
            Trouble("redirects to \(place.name)", [.limitExceeded]) { stranger in
                .answer(.status(302, [("Location", place.url(stranger))]))
            }
        }
        + [301, 303, 307, 308].map { status in
            Trouble("redirects to another origin with \(status)", [.limitExceeded]) { stranger in
                .answer(.status(status, [("Location", "\(stranger)/list")]))
            }
        } + [
            Trouble(
                "redirects to itself", [.limitExceeded], word: "redirect", answer: .status(302, [("Location", "/list")])
            ),
            Trouble("redirects without an end, each time to another place", [.limitExceeded], word: "redirect") { _ in
                .answers { request in
                    .status(
                        302, [("Location", "/list?turn=\((request.parameter("turn").flatMap { Int($0) } ?? 0) + 1)")])
                }
            },
            Trouble("redirects without a Location", [.rejected, .limitExceeded], answer: .status(302)),
            Trouble("repeats every secret in the redirect", [.limitExceeded]) { stranger in
                .answers { request in
                    let told = request.parameter("api_key") ?? ""
                    return .status(
                        302, [("Location", "\(stranger)/list?api_key=\(told)"), ("Set-Cookie", "told=\(told)")])
                }
            },
        ]

    static let nextLinks: [Trouble] =
        outside.map { place in
            Trouble("names a next page at \(place.name)", [.limitExceeded, .undecodable]) { stranger in
                .answer(.json(GoodList.page(1...3, next: "\"\(place.url(stranger))\"")))
            }
        } + [
            Trouble("repeats every secret in a next link to another origin", [.limitExceeded]) { stranger in
                .answers { request in
                    .json(
                        GoodList.page(1...3, next: "\"\(stranger)/list?api_key=\(request.parameter("api_key") ?? "")\"")
                    )
                }
            }
        ]
}
#endif

#if HTTP
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL
import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Maps the network's errors to the failures of the ledger (R26, R27). The messages may be printed on terminals. Each
/// message is one line. The messages of this type name no types and hold no part of the request. For an unknown error,
/// the message is the description of the library.
enum TransportFailure {
    static let cut = FetchFailure(
        .transport, "the connection was closed before the end of the answer", isRetryable: true)

    static func named(_ error: any Error, _ limits: HTTPLimits) -> FetchFailure {
        switch error {
        case let failure as FetchFailure:
            failure
        case let error as HTTPClientError:
            named(error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            insecure(error)
        case let error as NIOConnectionError:
            FetchFailure(
                .transport,
                "cannot connect: \(error.connectionErrors.first.map { words($0.error) } ?? "the host is not known")",
                isRetryable: true)
        case let error as HTTPParserError:
            named(error, limits)
        case NIOHTTPDecompression.DecompressionError.limit:
            .decompressedBodyTooLarge(limits)
        case is NIOHTTPDecompression.DecompressionError:
            FetchFailure(.undecodable, "the compressed body is damaged", isRetryable: false)
        case let error as NIOHTTPDecompression.ExtraDecompressionError:
            error == .truncatedData
                ? cut : FetchFailure(.undecodable, "the compressed body is damaged", isRetryable: false)
        case is NIOHTTPDecoderError:
            FetchFailure(.transport, "the origin sent more than it announced", isRetryable: true)
        case is ChannelError:
            cut
        default:
            FetchFailure(.transport, words(error), isRetryable: true)
        }
    }

    /// The failure of a connection that TLS refuses: another attempt has the same result. An unclean shutdown can be
    /// retried.
    private static func insecure(_ error: any Error) -> FetchFailure {
        if case NIOSSLError.uncleanShutdown = error { return cut }
        let text = "\(error)"
        let reasons = [
            (
                "CERTIFICATE_VERIFY_FAILED",
                "the origin's certificate is not trusted; name its certificate authority with HTTPNetwork.certificates"
            ),
            ("failedToValidateHostname", "the origin's certificate is for another host"),
            ("WRONG_VERSION_NUMBER", "the origin does not speak TLS at this port; try http://"),
            ("HTTP_REQUEST", "the origin does not speak TLS at this port; try http://"),
            ("failedToLoadCertificate", "the file of trusted certificates cannot be read"),
            ("noSuchFilesystemObject", "the file of trusted certificates does not exist"),
            ("UNSUPPORTED_PROTOCOL", "the origin supports only an old version of TLS"),
            ("CERTIFICATE_REQUIRED", "the origin requires a client certificate, which is not supported"),
        ]
        let reason = reasons.first { text.contains($0.0) }?.1 ?? "the TLS handshake with the origin failed"
        return FetchFailure(.limitExceeded, reason, isRetryable: false)
    }

    /// The failure of a request through a proxy. The message names the proxy, because the origin itself may work.
    static func behind(_ proxy: HTTPNetwork.Proxy, _ failure: FetchFailure) -> FetchFailure {
        guard failure.isTransport else { return failure }
        var failure = failure
        failure.message = "through the proxy \(proxy): \(failure.message)"
        return failure
    }

    private static func named(_ error: HTTPClientError) -> FetchFailure {
        switch error {
        case .proxyAuthenticationRequired:
            FetchFailure(.forbidden, "the proxy requires authentication (407)", isRetryable: false)
        case .invalidProxyResponse:
            FetchFailure(.transport, "the proxy refused the connection", isRetryable: true)
        case .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
            FetchFailure(.timeout, "no connection in time", isRetryable: true)
        case .getConnectionFromPoolTimeout:
            FetchFailure(.timeout, "no connection was free in time", isRetryable: true)
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            FetchFailure(.timeout, "the origin did not answer in time", isRetryable: true)
        case .remoteConnectionClosed, .uncleanShutdown:
            cut
        case .invalidURL, .emptyHost, .emptyScheme:
            FetchFailure(.rejected, "the URL cannot be requested", isRetryable: false)
        default:
            // A header of the caller that would break the request, and similar errors (RFC 9110, 5.5).
            error.shortDescription.hasPrefix("Invalid header")
                ? FetchFailure(.rejected, "a header cannot be sent", isRetryable: false)
                : FetchFailure(.transport, error.shortDescription.lowercased(), isRetryable: true)
        }
    }

    private static func named(_ error: HTTPParserError, _ limits: HTTPLimits) -> FetchFailure {
        switch error {
        case .headerOverflow: .headerTooLarge(limits)
        case .invalidEOFState: cut
        default: FetchFailure(.transport, "the answer is not HTTP (\(error))", isRetryable: true)
        }
    }

    private static func words(_ error: any Error) -> String {
        if let error = error as? IOError {
            switch error.errnoCode {
            case ECONNREFUSED: return "connection refused"
            case ECONNRESET, EPIPE: return "the connection was reset"
            default: return String(cString: strerror(error.errnoCode))
            }
        }
        if error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError {
            return insecure(error).message
        }
        if let error = error as? ChannelError, case .connectTimeout = error { return "no connection in time" }
        // The library's own description, in one line.
        let text = "\(error)".unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return String(String(text).prefix(200))
    }
}
#endif

#if PostgreSQL
/// An event of a LISTEN.
package enum Notification: Hashable, Sendable {
    /// The server listens from now on. Read the state that the notifications announce now, not earlier.
    case listening
    /// The server listens again, or notifications were dropped because the stream was not read. Read the state again.
    case reconnected
    case payload(String)
}
#endif

#if PostgreSQL
/// An event of a channel that the pool listens to.
package enum Notification: Hashable, Sendable {
    /// The session listens from now on. A state that was read before this event may be outdated without a notification,
    /// so read the state after it.
    case listening
    /// The session listens again after a lost connection, or notifications were dropped because the stream was not
    /// read. Read the state again.
    case reconnected
    case payload(String)
}
#endif

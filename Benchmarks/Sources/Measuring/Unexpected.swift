/// A violated assumption of a benchmark, whose figures are then meaningless.
public struct Unexpected: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Inlined: it is called in what is measured.
@inlinable
public func expect(_ holds: Bool, _ what: String = "the work to be done") throws {
    guard holds else { throw Unexpected("expected: \(what)") }
}

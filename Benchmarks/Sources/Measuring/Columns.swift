import Foundation

extension String {
    /// The text in a column of this width, at its left.
    public func left(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text in a column of this width, at its right.
    public func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension Double {
    /// As tables show it; a dash where it is not a number.
    /// - Parameter places: digits after the point.
    public func shown(places: Int = 2) -> String { isFinite ? String(format: "%.\(places)f", self) : "–" }
}

import PageModel

extension Connection {
    /// Returns the error of a moved store. Its message says which file of the store is gone, and whether another file
    /// is in its place. Returns `moved` unchanged if every file is in its place again.
    func explainedByFiles(_ moved: StorageError) -> StorageError {
        guard let place else { return moved }
        // Only a connection that writes takes turns with other writers.
        let result = turns == nil ? "" : "; nothing more was stored"
        guard FileIdentity(path) == place.identity else {
            let end = StoreFile.exists(path) ? "was replaced by another file" : "was renamed or removed"
            return StorageError(.moved, "\(path) \(end) while it was open\(result)")
        }
        guard let file = companions.first(where: { FileIdentity($0.path) != $0.identity })?.path else { return moved }
        let end = StoreFile.exists(file) ? "was replaced" : "was removed"
        return StorageError(.moved, "\(file) beside the store \(end) while the store was open\(result)")
    }
}

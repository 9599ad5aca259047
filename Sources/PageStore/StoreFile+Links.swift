#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// The symbolic links on the path of a store (R9).
extension StoreFile {
    /// The largest number of links that the system follows in one path.
    private static let mostLinks = 40

    /// Resolves the path step by step, and throws `permission` for a symbolic link that belongs neither to root nor to
    /// this user. The owner of such a link could lead each later opening to another store.
    ///
    /// Does not throw if the path leads to no file, or has more than 40 links. The opening then reports that.
    static func checkLinks(of path: String) throws(StorageError) {
        var place = path.hasPrefix("/") ? "/" : "."
        var rest = Array(path.split(separator: "/").reversed())
        var links = 0
        while let name = rest.popLast() {
            let next = join(place, String(name))
            var status = stat()
            guard lstat(next, &status) == 0 else { return }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                place = next
                continue
            }
            guard status.st_uid == 0 || status.st_uid == geteuid() else {
                throw StorageError(.permission, "\(next) is a symbolic link that another user owns")
            }
            links += 1
            guard links <= mostLinks, let target = StoreFile.target(ofLink: next) else { return }
            if target.hasPrefix("/") { place = "/" }
            rest += target.split(separator: "/").reversed()
        }
    }

    /// Returns the text of a symbolic link, or nil if the path leads to no link.
    static func target(ofLink path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}

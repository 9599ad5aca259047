#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// The path of a store: missing directories, and symbolic links (R9).
extension StoreFile {
    /// Returns the resolved path of the store at `path`. Throws `notFound` when there is none.
    static func locate(_ path: String) throws(StorageError) -> String {
        let (directory, name) = split(path)
        guard let parent = realPath(directory) else {
            throw errno == EACCES
                ? StorageError(.permission, "\(path): permission denied")
                : StorageError(.notFound, "there is no store at \(path)")
        }
        return try checkLink(join(parent, name), asked: path)
    }

    /// Returns the resolved path for a store at `path`, whether or not there is one. Creates missing directories with
    /// mode 0700 and follows a symbolic link of the same user (R9).
    static func place(_ path: String) throws(StorageError) -> String {
        let (directory, name) = split(path)
        try makeDirectories(directory, for: path)
        guard let parent = realPath(directory) else { throw failure(.cannotCreate, "cannot create \(path)") }
        let file = join(parent, name)
        guard exists(file) else { return file }
        if let target = try targetOfDanglingLink(file, asked: path) { return target }
        return try checkLink(file, asked: path)
    }

    /// Resolves a symbolic link. Throws `permission` for a link of another user (R9).
    private static func checkLink(_ file: String, asked path: String) throws(StorageError) -> String {
        var status = stat()
        guard lstat(file, &status) == 0 else {
            throw StorageError(
                errno == EACCES ? .permission : .notFound,
                errno == EACCES
                    ? "\(path): permission denied" : "there is no store at \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFLNK else { return file }
        guard status.st_uid == geteuid() else {
            throw StorageError(.permission, "\(path) is a symbolic link that another user owns")
        }
        if let target = realPath(file) { return target }
        guard let target = try targetOfDanglingLink(file, asked: path) else {
            throw failure(.inputOutput, "cannot follow the symbolic link \(path)")
        }
        throw StorageError(.notFound, "there is no store at \(path): the link leads to \(target), which does not exist")
    }

    /// Returns the path to which a symbolic link of this user leads, if there is no file. Returns nil for other files.
    /// - Throws: `danglingLink` when the directory of that path does not exist, or when the path is a link, too.
    private static func targetOfDanglingLink(_ file: String, asked path: String) throws(StorageError) -> String? {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid == geteuid(),
            realPath(file) == nil, errno == ENOENT
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { readlink(file, $0.baseAddress!, $0.count) }
        }
        guard count > 0 else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        let target = text.hasPrefix("/") ? text : join(split(file).directory, text)
        let (directory, name) = split(target)
        if let parent = realPath(directory), !exists(join(parent, name)) { return join(parent, name) }
        throw StorageError(
            .danglingLink,
            "\(path) is a symbolic link to \(target), which does not exist; remove the link, or create \(directory)")
    }

    private static func makeDirectories(_ directory: String, for path: String) throws(StorageError) {
        var status = stat()
        if stat(directory, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw StorageError(.cannotCreate, "cannot create \(path): \(directory) is not a directory")
            }
            return
        }
        let (parent, _) = split(directory)
        if parent != directory { try makeDirectories(parent, for: path) }
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw failure(.cannotCreate, "cannot create \(path): \(directory)")
        }
        syncDirectory(parent)
    }

    static func split(_ path: String) -> (directory: String, name: String) {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return (".", String(path)) }
        let directory = path[..<slash]
        return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory == "/" ? "/\(name)" : name.isEmpty ? directory : "\(directory)/\(name)"
    }

    static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

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
    /// Returns the resolved path of the store at `path`. Throws `notFound` when there is none, and `cannotCreate` when
    /// the path is too long for a store or has too many links.
    static func locate(_ path: String) throws(StorageError) -> String {
        try checkLinks(of: path)
        let (directory, name) = split(path)
        guard let parent = realPath(directory) else {
            let reason = errno
            try checkLength(join(resolvedDirectory(directory), name))
            switch reason {
            case EACCES: throw StorageError(.permission, "\(path): permission denied")
            case ELOOP: throw StorageError(.cannotCreate, "\(path): too many symbolic links")
            default: throw StorageError(.notFound, "there is no store at \(path)")
            }
        }
        let file = join(parent, name)
        if !exists(file) { try checkLength(file) }
        return try checkLength(try checkLink(file, asked: path))
    }

    /// Returns the resolved path for a store at `path`, whether or not there is one. Creates missing directories with
    /// mode 0700 and follows a symbolic link of the same user (R9).
    static func place(_ path: String) throws(StorageError) -> String {
        try checkLinks(of: path)
        let (directory, name) = split(path)
        if realPath(directory) == nil { try checkLength(join(resolvedDirectory(directory), name)) }
        try makeDirectories(directory, for: path)
        guard let parent = realPath(directory) else { throw failure(.cannotCreate, "cannot create \(path)") }
        let file = join(parent, name)
        guard exists(file) else { return try checkLength(file) }
        if let target = try targetOfDanglingLink(file, asked: path) { return try checkLength(target) }
        return try checkLength(try checkLink(file, asked: path))
    }

    /// The largest length of a resolved path and of a file name, in bytes. SQLite's limit for a path is 512
    /// (`MAX_PATHNAME`), and the limit of most file systems for a name is 255 (`NAME_MAX`). The longest name next to
    /// the store, which ends with "-journal", has to fit as well.
    private static let mostPathBytes = 504
    private static let mostNameBytes = 247

    /// Returns `file`. Throws `cannotCreate` when the files next to the store would have too long a path or name.
    @discardableResult
    private static func checkLength(_ file: String) throws(StorageError) -> String {
        let (path, name) = (file.utf8.count, split(file).name.utf8.count)
        guard path <= mostPathBytes else {
            throw StorageError(
                .cannotCreate, "\(file): the path has \(path) bytes; that of a store may have \(mostPathBytes)")
        }
        guard name <= mostNameBytes else {
            throw StorageError(
                .cannotCreate, "\(file): the name has \(name) bytes; that of a store may have \(mostNameBytes)")
        }
        return file
    }

    /// Returns the resolved path that a directory has once its missing parts exist.
    private static func resolvedDirectory(_ directory: String) -> String {
        if let resolved = realPath(directory) { return resolved }
        let (parent, name) = split(directory)
        return parent == directory ? directory : join(resolvedDirectory(parent), name)
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

    /// Returns the path to which a symbolic link of this user leads, if there is no file at that path. Returns nil for
    /// any other file or link.
    /// - Throws: `danglingLink` when the directory of that path does not exist, or when that path is itself a link.
    private static func targetOfDanglingLink(_ file: String, asked path: String) throws(StorageError) -> String? {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid == geteuid(),
            realPath(file) == nil, errno == ENOENT, let text = StoreFile.target(ofLink: file)
        else { return nil }
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
        let isNew = mkdir(directory, 0o700) == 0
        guard isNew || errno == EEXIST else {
            throw failure(.cannotCreate, "cannot create \(path): \(directory)")
        }
        do throws(StorageError) {
            try syncDirectory(of: directory)
        } catch {
            // The next call creates the directory again, and waits for the disk again.
            if isNew { rmdir(directory) }
            throw error
        }
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

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A store file that is mounted by itself, and not with its directory.
extension StoreFile {
    /// Returns whether the file itself is a mount point, as after `docker -v cache.db:/data/cache.db`. Such a file has
    /// two names in two directories, and therefore two logs. Returns false where the system does not list its mounts.
    static func isMountPoint(_ path: String) -> Bool {
        #if os(Linux)
        let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var mounts: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            mounts += buffer.prefix(count)
        }
        return isMountPoint(path, in: mounts)
        #else
        return false
        #endif
    }

    /// Looks for the path in the lines of `mountinfo`. The fifth field of each line is the mount point, in which the
    /// kernel writes some bytes as octal numbers (https://www.kernel.org/doc/html/latest/filesystems/proc.html).
    static func isMountPoint(_ path: String, in mounts: [UInt8]) -> Bool {
        var field: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: " "): field += Array("\\040".utf8)
            case UInt8(ascii: "\t"): field += Array("\\011".utf8)
            case UInt8(ascii: "\n"): field += Array("\\012".utf8)
            case UInt8(ascii: "\\"): field += Array("\\134".utf8)
            default: field.append(byte)
            }
        }
        return mounts.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            return fields.count > 4 && fields[4].elementsEqual(field)
        }
    }
}

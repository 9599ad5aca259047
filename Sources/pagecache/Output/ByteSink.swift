#if Tool
/// Collects bytes in small pieces, and writes them in large ones to standard output or a file.
///
/// State: the memory of one large piece, its filled length, and the unfinished line for a terminal. The state ends with
/// the object. Only one task may use the object.
final class ByteSink {
    private static let capacity = 1 << 18

    private let terminal: Terminal
    private let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
    private var count = 0
    private var file: AtomicFile?
    private let isFile: Bool
    /// Whether the output is a terminal. Lines are then printed one by one, with control characters made visible (R46).
    private let isWatched: Bool
    private var line: [UInt8] = []
    /// The number of bytes appended so far.
    private(set) var written = 0

    /// - Parameter path: the file to write. `nil` means standard output.
    init(path: String?, terminal: Terminal) throws(ToolFailure) {
        self.terminal = terminal
        isFile = path != nil
        isWatched = path == nil && terminal.outputIsTerminal
        file = nil
        if let path { file = try AtomicFile(path) }
    }

    deinit { memory.deallocate() }

    func append(_ bytes: UnsafeRawBufferPointer) throws(ToolFailure) {
        written += bytes.count
        guard !isWatched else { return show(bytes) }
        guard let start = bytes.baseAddress, bytes.count <= ByteSink.capacity else {
            try flush()
            return try put(bytes)
        }
        if count + bytes.count > ByteSink.capacity { try flush() }
        (memory + count).copyMemory(from: start, byteCount: bytes.count)
        count += bytes.count
    }

    func append(_ byte: UInt8) throws(ToolFailure) {
        written += 1
        guard !isWatched else { return show(CollectionOfOne(byte)) }
        if count == ByteSink.capacity { try flush() }
        memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    func append(_ text: StaticString) throws(ToolFailure) {
        try append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func append(_ bytes: [UInt8]) throws(ToolFailure) {
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(ToolFailure) in try append(bytes) } }
        try result.get()
    }

    /// Writes the remaining bytes, and renames the temporary file to the path. Standard output needs no renaming.
    func finish() throws(ToolFailure) {
        if !line.isEmpty { show([UInt8(ascii: "\n")]) }
        try flush()
        if let file = file.take() { try file.commit() }
    }

    private func show(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            terminal.print(String(decoding: line, as: UTF8.self))
            line.removeAll(keepingCapacity: true)
        }
    }

    /// Writes the remaining bytes. An unfinished line for a terminal is kept until its end arrives.
    func flush() throws(ToolFailure) {
        defer { count = 0 }
        try put(UnsafeRawBufferPointer(start: memory, count: count))
    }

    private func put(_ bytes: UnsafeRawBufferPointer) throws(ToolFailure) {
        guard isFile else { return terminal.write(piece: bytes) }
        try file?.write(bytes)
    }
}
#endif

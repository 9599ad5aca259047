#if Tool
import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A key of a view.
enum Key: Equatable, Sendable {
    case up, down, pageUp, pageDown, home, end, enter, escape, backspace
    case character(Character)

    /// The keys in the bytes that a terminal sent at once (ECMA-48). Unknown sequences are left out.
    static func all(in bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        var rest = bytes[...]
        while let first = rest.first {
            if first == 0x1B, let second = rest.dropFirst().first,
                second == UInt8(ascii: "[") || second == UInt8(ascii: "O")
            {
                let sequence = rest.dropFirst(2).prefix { $0 < 0x40 }
                let last = rest.dropFirst(2 + sequence.count).first
                rest = rest.dropFirst(3 + sequence.count)
                if let last, let key = named(last, Array(sequence)) { keys.append(key) }
                continue
            }
            rest = rest.dropFirst()
            switch first {
            case 0x1B: keys.append(.escape)
            case 0x0A, 0x0D: keys.append(.enter)
            case 0x7F, 0x08: keys.append(.backspace)
            case ..<0x20: break
            case ..<0x80: keys.append(.character(Character(Unicode.Scalar(first))))
            default:
                let more = rest.prefix { $0 & 0xC0 == 0x80 }
                rest = rest.dropFirst(more.count)
                keys += String(decoding: [first] + more, as: UTF8.self).map { .character($0) }
            }
        }
        return keys
    }

    /// The key of a sequence. Returns nil for an unknown sequence. Terminals differ in the sequences of Home and End.
    /// - Parameters:
    ///   - last: the byte that ends the sequence.
    ///   - parameters: the bytes before it.
    private static func named(_ last: UInt8, _ parameters: [UInt8]) -> Key? {
        switch (Character(Unicode.Scalar(last)), String(decoding: parameters, as: UTF8.self)) {
        case ("A", _): .up
        case ("B", _): .down
        case ("H", _), ("~", "1"), ("~", "7"): .home
        case ("F", _), ("~", "4"), ("~", "8"): .end
        case ("~", "5"): .pageUp
        case ("~", "6"): .pageDown
        default: nil
        }
    }
}

// Single keys from the terminal, without echo and without waiting for the end of a line.
extension Terminal {
    /// Whether a view can read keys.
    var readsKeys: Bool { inputIsTerminal && showsViews && tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Reads keys until the returned source is cancelled. `restore` and `suspend` give the terminal back its settings.
    func readKeys(_ action: @escaping @Sendable ([Key]) -> Void) -> any DispatchSourceRead {
        takeKeys()
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler { [self] in
            // The shell reads the keys while this process is in the background. Reading would stop the process.
            guard isInForeground else {
                usleep(100_000)
                return
            }
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count > 0 { action(Key.all(in: Array(bytes.prefix(count)))) }
            if count == 0 { source.cancel() }
        }
        source.resume()
        return source
    }

    /// Makes the terminal send each key at once and without echo, and remembers its old settings (termios(3)). Signal
    /// keys keep their meaning.
    func takeKeys() {
        var settings = termios()
        // A change of the settings from the background would stop this process (POSIX, 11.1.4).
        guard isInForeground, tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
        state.withLock { if $0.settings == nil { $0.settings = settings } }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// Calls `takeKeys` again when a view reads keys and a shell has reset the terminal since. The call is needed
    /// because `fg` sends no signal to a process that was not stopped.
    func keepKeys() {
        guard state.withLock({ !$0.isSuspended && $0.settings != nil }) else { return }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0, settings.c_lflag & tcflag_t(ICANON) != 0 else { return }
        takeKeys()
    }

    /// Restores the old settings of the terminal.
    func giveKeysBack(_ settings: termios?) {
        guard isInForeground, var settings else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
#endif

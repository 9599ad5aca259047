// A use after free that the address sanitizer must report. Otherwise its silence proves nothing.
let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 8)
bytes.initialize(repeating: 1, count: 8)
bytes.deallocate()
print(bytes[3])

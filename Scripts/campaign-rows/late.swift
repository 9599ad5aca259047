// Read after it was given back: what the address sanitizer must report, or its silence means nothing.
let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 8)
bytes.initialize(repeating: 1, count: 8)
bytes.deallocate()
print(bytes[3])

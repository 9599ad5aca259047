// A data race that the thread sanitizer must report. Otherwise its silence proves nothing.
import Dispatch

final class Box: @unchecked Sendable { var number = 0 }
let box = Box()
let together = DispatchGroup()
for _ in 0..<4 {
    DispatchQueue.global().async(group: together) { for _ in 0..<1_000_000 { box.number += 1 } }
}
together.wait()
print(box.number)

// Costs of an operation without a clock: the number of its allocations and of its instructions.
//
//     Costs [--rows]            allocations of each operation, of the library and of C: the mean of 500 rounds, after 500 to warm up
//     Costs --region WORK WHO   200 rounds of one operation inside `counting_region`, for valgrind's count of instructions
//
// WORK is read, commit or refresh; WHO is pagecache or C.
import Dispatch

// The main thread waits: valgrind cannot follow one that hands itself over to libdispatch, as that of an asynchronous
// main does.
let ended = DispatchSemaphore(value: 0)
Task.detached {
    do { try await Program.run(Array(CommandLine.arguments.dropFirst())) } catch { fatalError("\(error)") }
    ended.signal()
}
ended.wait()

// What work costs that no clock has to be trusted for: how often it asks for memory, and how many instructions it
// takes.
//
//     Costs [--rows]            allocations of each work, ours and the limit's: the mean of 500 rounds, after as many to warm up
//     Costs --region WORK WHO   200 rounds of one inside `counting_region`, for valgrind to count their instructions
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

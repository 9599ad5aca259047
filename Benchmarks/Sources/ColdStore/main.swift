// From nothing to a cached page, by the library: ColdStore DIRECTORY. As small as a program can be that shows one.
import PageModel
import PageStore

let store = try await SQLitePageStore.open(
    at: CommandLine.arguments[1] + "/ours.sqlite", mode: .mustExist)
let reads = store.synchronously
guard let query = try reads.query("list"), let page = try reads.page(at: 0, of: query.id) else {
    fatalError("nothing is cached")
}
print(page.content.count)
await store.close()

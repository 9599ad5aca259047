#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `pagecache doctor`: checks the store and its surroundings.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the store, its permissions, certificates, proxies, the clock and pinned queries.",
        discussion: """
            Sends no request and changes nothing. A warning leaves the exit code at 0. An
            error sets it to the exit code of its cause: 'pagecache help exit-codes'.
            'pagecache verify' checks every byte.

            EXAMPLES
              pagecache doctor
              pagecache doctor --json | jq '.[] | select(.status != "ok")'
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        var checks = DoctorChecks(environment: ProcessInfo.processInfo.environment, now: SystemClock().now())
        do throws(StorageError) {
            let store = try await common.place.openShowingWait(.reading)
            do throws(StorageError) {
                let (statistics, damaged) = (try await store.statistics(), try await store.storedQueries().damagedCount)
                if let path = common.place.path { checks.checkPlace(path, statistics.queries.map(\.summary)) }
                if let obstacle = try await store.writeObstacle() {
                    checks.cannotWrite(obstacle)
                } else if common.place.path == nil {
                    checks.canWrite()
                }
                checks.checkStore(store.name, statistics, damaged, try await store.headerProblem())
                if let store = store as? any RowCounting { checks.checkRows(try await store.rowCounts()) }
                if let copy = await store.localCopy() { checks.checkCopy(copy.path, copy.bytes, copy.problem) }
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        } catch {
            checks.failed(error, common.place.path)
        }
        checks.checkSurroundings()
        Doctor.table(checks.results).render(common.outputFormat, to: .standard)
        if let exit = checks.results.compactMap(\.exit).first { throw ToolProcess.Ended(status: exit) }
    }

    static func table(_ results: [DoctorChecks.Result]) -> ResultTable {
        let columns: [ResultTable.Column] = [
            .init(name: "check", heading: "CHECK", isWhole: true),
            .init(name: "status", heading: "STATUS", isWhole: true),
            .init(name: "message", heading: "RESULT", least: 20, isWrapped: true), .init(name: "hint"),
        ]
        let rows = results.map { result -> [ResultTable.Cell] in
            let hint = result.hint.map { Terminal.standard.hinted($0) }
            // In the table for people, the hint follows the message in its column.
            return [
                .init(.string(result.name)),
                .init(.string(result.status.rawValue), colour: result.status.colour),
                .init(.string(result.message), result.message + (hint.map { " (\($0))" } ?? "")),
                .init(.optional(hint)),
            ]
        }
        return ResultTable(columns: columns, rows: rows)
    }
}
#endif

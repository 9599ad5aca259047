import PageModel

/// Checks everything in a store, inside the caller's transaction.
struct Verification {
    private let connection: Connection
    private(set) var report = VerifyReport()
    /// The damage in the form that a repair needs.
    private(set) var damage = Damage()

    private init(_ connection: Connection) {
        self.connection = connection
    }

    /// - Parameter isOlder: whether the store has an older schema. The lists of such a store are not checked. Defaults
    ///   to false.
    static func run(in connection: Connection, isOlder: Bool = false) -> Verification {
        var verification = Verification(connection)
        verification.checkFile()
        if isOlder { return verification }
        verification.checkTrees()
        verification.reading("the queries") { (this: inout Verification) throws(StorageError) in try this.checkQueries()
        }
        verification.reading("tallies and read times") { (this: inout Verification) throws(StorageError) in
            try this.checkNotes()
        }
        verification.reading("orphans") { (this: inout Verification) throws(StorageError) in try this.checkOrphans() }
        return verification
    }

    /// Runs one check. An unreadable row is a finding and does not end the verification.
    private mutating func reading(
        _ what: String, _ body: (inout Verification) throws(StorageError) -> Void
    ) {
        do throws(StorageError) {
            try body(&self)
        } catch {
            damage.isFileDamaged = true
            report.findings.append(Finding(.file, "cannot read \(what): \(error.message)"))
        }
    }

    // MARK: File

    private mutating func checkFile() {
        if let problem = StoreHeader.problem(of: connection) { report.findings.append(Finding(.file, problem)) }
        reading("the file") { (this: inout Verification) throws(StorageError) in
            try this.connection.pragma("integrity_check(20)") { row throws(StorageError) in
                let text = row.text(0)
                guard text != "ok" else { return }
                let problems = IntegrityReport.problems(in: text)
                this.damage.isFileDamaged = true
                if !problems.allSatisfy(IntegrityReport.sparesRows) { this.damage.isTreeDamaged = true }
                this.report.findings += problems.map { Finding(.file, $0) }
            }
            let version = try Migrator.version(of: this.connection)
            for migration in Migration.catalogue where migration.version <= version {
                let stored = try this.connection.first(Verification.checksum, .int(migration.version)) {
                    row throws(StorageError) in
                    (checksum: row.text(0), appliedAt: row.time(1))
                }
                if stored?.checksum != migration.checksum
                    || stored.map({ !StoredBounds.contains($0.appliedAt) }) ?? true
                {
                    this.report.findings.append(
                        Finding(.file, "checksum mismatch of the record of migration \(migration.version)"))
                    this.damage.hasLostNotes = true
                }
            }
            if try StoreStamp.intact(in: this.connection) == nil {
                this.report.findings.append(Finding(.file, "the store's stamp is damaged"))
                this.damage.hasLostNotes = true
            }
        }
    }

    private static let checksum = SQL("SELECT checksum, applied_at FROM migration WHERE version = ?")

    /// Visits every page of the file that holds rows.
    private mutating func checkTrees() {
        for (name, sql) in StoreTrees.walks {
            do throws(StorageError) {
                _ = try connection.number(sql)
            } catch {
                damage.isFileDamaged = damage.isFileDamaged || !error.isMissingIndex
                damage.isTreeDamaged = damage.isTreeDamaged || !error.isMissingIndex
                report.findings.append(Finding(.file, "cannot read all of \(name): \(error.message)"))
            }
        }
    }

    // MARK: Lists

    private mutating func checkQueries() throws(StorageError) {
        if try QueryTable.isTreeDamaged(in: connection) {
            damage.isTreeDamaged = true
            report.findings.append(Finding(.file, "records of queries cannot be read, or are not in order"))
        }
        var broken: [ChecksummedQuery] = []
        var records = try QueryTable.all(in: connection) { broken.append($0) }
        for query in broken {
            report.findings.append(
                Finding(.query, query: query.record.id, "the record of the query is damaged"))
        }
        findNames(besides: records, &broken)
        findNamesakes(&records, &broken)
        damage.queries = broken
        for record in records { try check(record) }
        // The pages of these queries may be intact. Only the record is rebuilt then.
        for query in broken where damage.names[query.record.id] != nil { try check(query.record, isWhole: false) }
        report.queries = records.count + broken.count
    }

    /// Finds the names of damaged records, and the records that are lost.
    private mutating func findNames(besides records: [QueryRecord], _ broken: inout [ChecksummedQuery]) {
        damage.names = QueryNames.bound(in: connection)
        for record in records { damage.names[record.id] = nil }
        for index in broken.indices {
            if let name = damage.names[broken[index].record.id] { broken[index].record.key = name }
        }
        let known = Set(broken.map(\.record.id))
        for (query, name) in damage.names.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !known.contains(query)
        {
            damage.lost.append(query)
            report.findings.append(Finding(.query, query: query, "the record of the query is lost"))
            broken.append(
                ChecksummedQuery(
                    QueryRecord(
                        id: query, key: name, version: ListVersion(generation: 1, revision: 0), total: .unknown,
                        end: nil, validatedAt: nil,
                        createdAt: Timestamp(milliseconds: 0), allowsDuplicates: false, paging: "", source: "")))
        }
    }

    /// Finds records that share a name. Of these, a record with pages is kept before one without, an intact record before
    /// a damaged one, and an older record before a newer one.
    private mutating func findNamesakes(_ records: inout [QueryRecord], _ broken: inout [ChecksummedQuery]) {
        let intact = Set(records.map(\.id))
        let named = records + broken.map(\.record).filter { damage.names[$0.id] != nil }
        let shared = Dictionary(grouping: named, by: \.key).values.filter { $0.count > 1 }
        for namesakes in shared.sorted(by: { $0[0].id.rawValue < $1[0].id.rawValue }) {
            let ranked = namesakes.sorted { left, right in
                let (one, two) = (hasPages(left.id), hasPages(right.id))
                if one != two { return one }
                if intact.contains(left.id) != intact.contains(right.id) { return intact.contains(left.id) }
                return left.id.rawValue < right.id.rawValue
            }
            for other in ranked.dropFirst() {
                damage.namesakes.append(other.id)
                report.findings.append(
                    Finding(
                        .query, query: other.id,
                        "queries \(ranked[0].id.rawValue) and \(other.id.rawValue) have the same key"))
            }
        }
        let dropped = Set(damage.namesakes)
        records.removeAll { dropped.contains($0.id) }
        broken.removeAll { dropped.contains($0.record.id) }
        damage.lost.removeAll { dropped.contains($0) }
    }

    private func hasPages(_ query: QueryID) -> Bool {
        (try? connection.number(Verification.anyPage, .int(query.rawValue))) ?? 0 != 0
    }

    private static let anyPage = SQL("SELECT EXISTS (SELECT 1 FROM page WHERE query = ?)")

    private mutating func check(_ record: QueryRecord, isWhole: Bool = true) throws(StorageError) {
        let before = report.findings.count
        var broken: [Int] = []
        let rows = try PageTable.rows(of: record.id, in: connection) { broken.append($0) }
        for offset in broken {
            damage.rows.append(.init(query: record.id, offset: offset))
            report.findings.append(
                Finding(.page, query: record.id, "checksum mismatch of a page record at or near position \(offset)"))
        }
        if try PageTable.isTreeDamaged(of: record.id, in: connection) {
            damage.isTreeDamaged = true
            for range in try PageTable.read(of: record.id, in: connection).damaged {
                let length = record.end ?? record.total.count ?? range.lowerBound
                report.findings.append(
                    Finding(
                        .page, query: record.id,
                        range: range.lowerBound..<max(range.lowerBound, min(range.upperBound, length)),
                        "records of pages cannot be read, or are not in order"))
            }
        }
        var end = 0
        var keys: Set<UInt64> = []
        for row in rows {
            let page = row.summary
            let place = Damage.Place(query: record.id, offset: page.offset)
            report.pages += 1
            report.items += page.count
            report.bytes += row.bytes
            guard page.offset >= end else {
                drop(place, .overlap, page.range, "pages overlap here")
                continue
            }
            end = page.range.upperBound
            guard let content = try BodyTable.content(of: row, in: connection) else {
                drop(place, .items, page.range, "checksum mismatch of the items")
                continue
            }
            let identities = content.identities
            guard PageContent.fingerprint(of: identities) == page.fingerprint else {
                drop(place, .items, page.range, "checksum mismatch of the items")
                continue
            }
            if try !IdentityTable.holds(identities, for: row.body, query: record.id, connection) {
                damage.identities.append(place)
                report.findings.append(
                    Finding(.identity, query: record.id, range: page.range, "checksum mismatch of the item hashes"))
            }
            guard isWhole, !record.allowsDuplicates, page.generation == record.version.generation else { continue }
            let own = Set(identities.map(\.key))
            guard own.count == identities.count, keys.isDisjoint(with: own) else {
                drop(place, .duplicate, page.range, "an item of the page occurs twice in the list")
                continue
            }
            keys.formUnion(own)
        }
        try checkLedger(record.id)
        if try !JournalTable.isSound(record.id, in: connection) {
            damage.journals.append(record.id)
            report.findings.append(
                Finding(.journal, query: record.id, "checksum mismatch of the journal"))
        }
        // A list with other damage gets its holdings recounted anyway.
        if isWhole, report.findings.count == before { try checkHoldings(of: record, rows) }
    }

    private mutating func checkHoldings(of record: QueryRecord, _ rows: [PageRow]) throws(StorageError) {
        let counted = ListHoldings(rows.map(\.summary), generation: record.version.generation)
        guard let kept = try JournalTable.holdings(of: record, in: connection), kept != counted else { return }
        damage.holdings.append(record.id)
        report.findings.append(
            Finding(.journal, query: record.id, "holdings do not match the stored pages"))
    }

    private mutating func drop(_ place: Damage.Place, _ kind: Finding.Kind, _ range: Range<Int>, _ message: String) {
        damage.pages.append(place)
        report.findings.append(Finding(kind, query: place.query, range: range, message))
    }

    private mutating func checkLedger(_ query: QueryID) throws(StorageError) {
        if try LedgerTable.isTreeDamaged(of: query, in: connection) {
            damage.isTreeDamaged = true
            report.findings.append(Finding(.ledger, query: query, "fetch records cannot be read, or are not in order"))
        }
        for offset in try LedgerTable.impossible(of: query, in: connection) {
            damage.ledger.append(.init(query: query, offset: offset))
            report.findings.append(
                Finding(.ledger, query: query, "page \(offset): fetch record has a number out of range"))
        }
    }

    // MARK: Numbers without a seal

    private mutating func checkNotes() throws(StorageError) {
        for (sql, kind, one, many) in ImpossibleNotes.counts {
            guard let count = try connection.number(sql), count > 0 else { continue }
            damage.hasImpossibleNotes = true
            report.findings.append(Finding(kind, "\(count) \(count == 1 ? one : many)"))
        }
    }

    // MARK: Orphans

    private mutating func checkOrphans() throws(StorageError) {
        for (sql, one, many) in Orphans.counts {
            guard let count = try connection.number(sql), count > 0 else { continue }
            damage.hasOrphans = true
            report.findings.append(Finding(.orphan, "\(count) \(count == 1 ? one : many)"))
        }
    }
}

#if PostgreSQL
import CPostgres

extension SessionHandle {
    /// Puts the statements and the sync of one request into the send buffer. Returns false when the session is broken.
    /// Without the sync the server commits none of the statements.
    func send(_ encoded: [EncodedStatement], _ plans: [StatementCache.Plan]) -> Bool {
        for (statement, plan) in zip(encoded, plans) {
            let code = statement.withParameters { count, types, values, lengths, formats -> Int32 in
                switch plan {
                case .unnamed:
                    return PQsendQueryParams(pointer, statement.sql, count, types, values, lengths, formats, 1)
                case .prepare(let name):
                    guard PQsendPrepare(pointer, name, statement.sql, count, types) == 1 else { return 0 }
                    return PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
                case .named(let name):
                    return PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
                }
            }
            guard code == 1 else { return false }
        }
        return PQpipelineSync(pointer) == 1
    }
}
#endif

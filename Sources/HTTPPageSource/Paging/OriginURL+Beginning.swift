/// Parameters of a caller's URL that lead to a later page.
extension OriginURL {
    /// Removes the parameters that lead to a later page, and returns the candidate that each one suggests. The URLs of
    /// all pages stand for the same list, because its key has no paging parameters (R45). The list is fetched from its
    /// beginning. Parameters whose name may mean something else are kept, as in keys.
    mutating func removePlace(_ configuration: HTTPSourceConfiguration) -> [Candidate] {
        guard configuration.paging != .none else { return [] }
        var found: [Candidate] = []
        removeParameters { parameter in
            let name = parameter.plainName
            if ParameterNames.isCursor(name), ParameterNames.isPaging(name),
                !CandidateOrder.placeholders.contains(parameter.plainValue.lowercased())
            {
                found.append(.cursor(name))
                return true
            }
            guard let number = Int(parameter.plainValue),
                ParameterNames.isPaging(name) || configuration.pagingParameters.contains(name)
            else { return false }
            // The value 1 may be the first page, or the first item.
            if name == configuration.pageParameter || ParameterNames.page.contains(name) {
                guard number > 1 else { return false }
                found.append(.page(name, first: configuration.firstPage))
                return true
            }
            guard name == configuration.offsetParameter || ParameterNames.offset.contains(name),
                number > (ParameterNames.countedFromOne.contains(name) ? 1 : 0)
            else { return false }
            found.append(.offset(name))
            return true
        }
        return found
    }
}

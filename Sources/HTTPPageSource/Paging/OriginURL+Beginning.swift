/// Parameters of a caller's URL that lead to a later page than the first.
extension OriginURL {
    /// Takes them out, and returns what each may be tried as: a list is the same whichever of its pages somebody has
    /// copied the URL of (R45: its key has no paging), and it is fetched from its beginning. What else such a name
    /// might mean is kept, as in keys.
    mutating func removePlace(_ configuration: HTTPSourceConfiguration) -> [Candidate] {
        guard configuration.paging != .none else { return [] }
        var found: [Candidate] = []
        removeParameters { parameter in
            let name = parameter.plainName
            guard let number = Int(parameter.plainValue),
                ParameterNames.isPaging(name) || configuration.pagingParameters.contains(name)
            else { return false }
            // 1 may be the first page, and the first item.
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

import PageModel

// Answers with a status of success whose body says that the request failed.
extension Answer {
    /// The member at the top of the body that says that the request failed. Callers use it only for an answer without
    /// items: some origins return errors of single fields next to the items. Returns nil for any other answer.
    /// - Parameter items: the place of the items, whose member may itself be named like an error.
    func statedFailure(items: JSONPointer?) -> String? {
        // The answer to a URL for errors has a list of errors.
        guard document.kind(of: document.root) == .object, !url.path.lowercased().contains("error") else { return nil }
        return document.members(of: document.root).first { name, value in
            name != items?.tokens.first && isFailure(EnvelopeMember.plain(name), value)
        }.map { JSONPointer(tokens: [$0.name]).description }
    }

    private func isFailure(_ name: String, _ value: JSONValue) -> Bool {
        let truth = document.truth(value)
        switch name {
        case "success", "issuccess", "successful", "succeeded", "ok":
            return truth == false
        case "status", "result", "outcome":
            return ["error", "fail", "failed", "failure"].contains(document.string(value)?.lowercased() ?? "")
        case "iserror", "haserror", "haserrors", "failed":
            return truth == true
        case "error", "errors":
            return truth ?? isFilled(value)
        case _:
            return false
        }
    }

    /// Whether a value holds anything: some origins always return an error with a code of 0 and no message.
    private func isFilled(_ value: JSONValue) -> Bool {
        switch document.kind(of: value) {
        case .object: document.members(of: value).contains { isFilled($0.value) }
        case .array: !document.elements(of: value, atMost: 1).isEmpty
        case .string: document.string(value) != "" && document.string(value) != "0"
        case .number: document.integer(value) != 0
        case .boolean: document.boolean(value) == true
        case .null: false
        }
    }

    /// The failure of an answer without items that says that the request failed. Returns nil for any other answer.
    func failure(withoutItemsAt items: JSONPointer?) -> FetchFailure? {
        statedFailure(items: items).map { place in
            FetchFailure(
                .undecodable, "the origin answered \(response.status) with an error (\(place))", isRetryable: false,
                httpStatus: response.status)
        }
    }
}

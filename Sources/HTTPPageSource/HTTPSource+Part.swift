import PageModel
import Synchronization

// Origins that say that their results are a part of the list.
extension HTTPSource {
    /// Records whether page one calls itself a part of the list, and whether it calls its total a lower bound.
    func note(_ answer: Answer, _ description: PagingProfile) {
        state.withLock { state in
            state.isPart = PageReader.isPart(answer, description)
            state.isLowerBound = PageReader.isLowerBound(answer, description)
        }
    }

    /// Rejects the end of a list if an answer called itself a part of the list (R24). The cached items stay, and the
    /// list is incomplete.
    /// - Throws: `FetchFailure` with class `undecodable`.
    func rejectEndOfPart() throws(FetchFailure) {
        guard state.withLock({ $0.isPart }) else { return }
        let place = state.withLock { $0.description?.part?.description } ?? "its answer"
        throw FetchFailure(
            .undecodable, "the origin says that its results are a part of the list (\(place))", isRetryable: false)
    }
}

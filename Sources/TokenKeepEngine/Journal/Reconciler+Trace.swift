import TokenKeepCore

extension Reconciler {
    /// Asks a module outside the order of the stack's lines, and traces the answer.
    func ask<Answer>(
        _ module: any Module, to operation: StackLine.Operation, _ name: ItemName, because reason: String,
        _ body: () throws(TokenKeepError) -> Answer
    ) throws(TokenKeepError) -> Answer {
        do throws(TokenKeepError) {
            let answer = try body()
            dispatcher.trace?(.aside(operation, name, module, .ok, reason))
            return answer
        } catch {
            dispatcher.trace?(.aside(operation, name, module, error.status, reason))
            throw error.inModule(module.name)
        }
    }

    /// Traces an action of the journal itself.
    func note(_ operation: StackLine.Operation, _ name: ItemName, _ status: Status, _ reason: String) {
        dispatcher.trace?(
            StackTraceEvent(
                operation: operation, subject: name.description, module: "journal", status: status, action: nil,
                reason: reason))
    }
}

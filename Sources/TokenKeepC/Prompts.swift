import CSystemShims
import TokenKeepCore
import TokenKeepHeaders

/// A `tokenkeep_prompt_fn` and its data.
///
/// The caller owns the data. The data must live as long as the store and be safe for the threads that use the store.
struct CPrompt: @unchecked Sendable {
    /// The maximum length of an answer, in bytes.
    private static let capacity = 4096

    let function: tokenkeep_prompt_fn
    let data: UnsafeMutableRawPointer?

    /// Calls the C function. Every status except OK counts as the user's refusal.
    var handler: PromptHandler {
        { prompt throws(TokenKeepError) in try ask(prompt) }
    }

    private func ask(_ prompt: Prompt) throws(TokenKeepError) -> SecretBytes {
        var length = 0
        let buffer = try SecretBytes(count: CPrompt.capacity) { buffer throws(TokenKeepError) in
            let status = call(prompt, buffer, &length)
            guard status == Status.ok.rawValue else {
                throw TokenKeepError(.cancelled, "the prompt for \(prompt.item) was dismissed")
            }
        }
        guard (0...CPrompt.capacity).contains(length) else {
            throw TokenKeepError(.invalid, "the answer to a prompt is longer than \(CPrompt.capacity) bytes")
        }
        return try buffer.prefix(length)
    }

    private func call(
        _ prompt: Prompt, _ buffer: UnsafeMutableRawBufferPointer, _ length: inout Int
    ) -> tokenkeep_status {
        let texts = CStrings([prompt.message, prompt.item.service, prompt.item.account])
        var question = tokenkeep_prompt()
        question.struct_size = MemoryLayout<tokenkeep_prompt>.size
        question.kind = prompt.kind.rawValue
        question.attempt = prompt.attempt
        question.message = texts[0]
        question.service = texts[1]
        question.account = texts[2]
        let answer = buffer.bindMemory(to: CChar.self).baseAddress
        // The function waits for a person. The thread leaves the call meanwhile, so that fork() in another thread does
        // not wait for this person, too.
        tokenkeep_call_leave()
        defer { tokenkeep_call_resume() }
        return withExtendedLifetime(texts) { function(data, &question, answer, buffer.count, &length) }
    }
}

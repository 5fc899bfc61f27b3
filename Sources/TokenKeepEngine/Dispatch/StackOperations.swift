import TokenKeepCore

/// The lines of a stack, grouped by operation, with the modules that the lines name.
struct StackOperations: Sendable {
    /// The lines in the order of the stack, each with its module.
    let places: [Dispatcher.Place]
    private let load: OperationSteps
    private let save: OperationSteps
    private let clear: OperationSteps
    private let list: OperationSteps

    /// Creates the modules, one for each module name in the stack.
    ///
    /// - Throws: the errors of `make`, with file and line; ``Status/invalid`` if a jump leads out of its stack.
    init(
        _ entries: [Stack.Entry], make: (StackLine) throws(TokenKeepError) -> any Module
    ) throws(TokenKeepError) {
        var places: [Dispatcher.Place] = []
        for line in Stack.lines(of: entries) {
            if let earlier = places.first(where: { $0.line.module == line.module }) {
                try StackOperations.check(line, against: earlier.line)
                places.append(Dispatcher.Place(line: line, module: earlier.module))
            } else if let module = try StackOperations.module(of: line, make) {
                try StackOperations.check(module, of: line, against: places)
                places.append(Dispatcher.Place(line: line, module: module))
            }
        }
        let made = places
        func program(_ operation: StackLine.Operation) throws(TokenKeepError) -> OperationSteps {
            try OperationSteps(entries, for: operation) { line in
                made.first { $0.line.module == line.module }.map { Dispatcher.Place(line: line, module: $0.module) }
            }
        }
        self.places = places
        load = try program(.load)
        save = try program(.save)
        clear = try program(.clear)
        list = try program(.list)
    }

    /// The lines for one operation, which must not be ``StackLine/Operation/any``.
    subscript(operation: StackLine.Operation) -> OperationSteps {
        switch operation {
        case .load, .any: load
        case .save: save
        case .clear: clear
        case .list: list
        }
    }

    private static func module(
        of line: StackLine, _ make: (StackLine) throws(TokenKeepError) -> any Module
    ) throws(TokenKeepError) -> (any Module)? {
        do throws(TokenKeepError) {
            return try make(line)
        } catch {
            if error.isAbsence, line.mayBeMissing { return nil }
            throw TokenKeepError(
                error.status, "\(line.place): \(error.message)", module: error.module, hint: error.hint,
                isAbsence: error.isAbsence)
        }
    }

    /// Checks that no other module has the same name, because a pending write identifies its module by name.
    private static func check(
        _ module: any Module, of line: StackLine, against places: [Dispatcher.Place]
    ) throws(TokenKeepError) {
        guard let other = places.first(where: { $0.module.name == module.name }) else { return }
        throw TokenKeepError(
            .invalid, "\(line.place): expected another module's name than \(module.name), as in \(other.line.place)")
    }

    /// Checks a further line of a module, which must have the arguments of the module's first line, or none.
    private static func check(_ line: StackLine, against first: StackLine) throws(TokenKeepError) {
        guard line.arguments.isEmpty || line.arguments == first.arguments else {
            throw TokenKeepError(
                .invalid, "\(line.place): expected the arguments of \(line.module) as in \(first.place), or none")
        }
    }
}

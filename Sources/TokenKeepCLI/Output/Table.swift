import CSystemShims

/// A table with aligned columns, for people.
struct Table {
    /// The minimum width, in terminal columns, to which a column is reduced to fit the terminal.
    private static let narrowest = 8
    private var rows: [[String]]

    /// Makes a table with `header` as its first row.
    init(header: [String]) { rows = [header] }

    /// Adds a row. Cells are escaped by `Terminal.printable`; an empty cell shows as `-`.
    mutating func add(_ cells: [String]) {
        rows.append(cells.map { $0.isEmpty ? "-" : Terminal.printable($0) })
    }

    /// The rows as lines, with two spaces between columns.
    ///
    /// If the terminal is too narrow, the cells of the widest columns are truncated, and each truncated cell ends with
    /// an ellipsis. If standard output is no terminal, no cell is truncated.
    var text: String {
        let columns = Table.fitted(widths, to: Terminal.columns)
        return rows.map { Table.line($0, columns: columns) }.joined()
    }

    /// The width of each column's widest cell.
    private var widths: [Int] {
        let widths = rows.map { $0.map(Table.width) }
        return (rows.first ?? []).indices.map { column in widths.map { $0[column] }.max() ?? 0 }
    }

    /// The widths of the columns, reduced to fit a line of `limit` terminal columns; nil for no limit.
    private static func fitted(_ widths: [Int], to limit: Int?) -> [Int] {
        guard let limit else { return widths }
        var widths = widths
        var excess = widths.reduce(2 * (widths.count - 1), +) - limit
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > narrowest {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private static func line(_ cells: [String], columns: [Int]) -> String {
        let padded = zip(cells, columns).map { cell, column in
            let cell = cut(cell, to: column)
            return cell + String(repeating: " ", count: max(0, column - width(cell)))
        }
        let line = padded.joined(separator: "  ")
        return line.prefix(line.count - line.reversed().prefix { $0 == " " }.count) + "\n"
    }

    private static func cut(_ cell: String, to column: Int) -> String {
        guard width(cell) > column else { return cell }
        var cell = cell
        while !cell.isEmpty, width(cell) >= column { cell.removeLast() }
        return cell + "…"
    }

    /// The number of terminal columns that the text occupies.
    private static func width(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : Int(tokenkeep_display_width($1.value))) }
    }
}

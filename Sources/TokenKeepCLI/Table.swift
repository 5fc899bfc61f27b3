import CSystemShims

/// A table with aligned columns, for people.
struct Table {
    private var rows: [[String]]

    /// Makes a table with `header` as its first row.
    init(header: [String]) { rows = [header] }

    /// Adds a row. Cells are escaped by `Terminal.printable`; an empty cell shows as `-`.
    mutating func add(_ cells: [String]) {
        rows.append(cells.map { $0.isEmpty ? "-" : Terminal.printable($0) })
    }

    /// The rows as lines, with two spaces between columns.
    var text: String {
        let widths = rows.map { $0.map(Table.width) }
        let columns = rows.first.map { header in
            header.indices.map { column in widths.map { $0[column] }.max() ?? 0 }
        }
        return rows.map { Table.line($0, columns: columns ?? []) }.joined()
    }

    private static func line(_ cells: [String], columns: [Int]) -> String {
        let padded = zip(cells, columns).map { cell, column in
            cell + String(repeating: " ", count: max(0, column - width(cell)))
        }
        let line = padded.joined(separator: "  ")
        return line.prefix(line.count - line.reversed().prefix { $0 == " " }.count) + "\n"
    }

    /// The number of terminal columns that the text takes.
    private static func width(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : Int(tokenkeep_display_width($1.value))) }
    }
}

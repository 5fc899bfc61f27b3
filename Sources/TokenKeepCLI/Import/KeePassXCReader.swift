import TokenKeepCore

/// Reads a CSV export of KeePassXC: fields with commas between them, quoted if they contain commas or line breaks.
enum KeePassXCReader {
    private struct Record {
        var fields: [Slice<UnsafeRawBufferPointer>]
        let line: Int
        let range: Range<Int>
    }

    static func read(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> ForeignEntries {
        guard let records = records(of: bytes) else { throw ForeignFormat.foreign("a quotation does not end") }
        let header = try records.first?.fields.map { (field) throws(TokenKeepError) in
            try ForeignText.name(unquoted(field))
        }
        guard let header, let title = header.firstIndex(of: "Title"), let user = header.firstIndex(of: "Username"),
            let password = header.firstIndex(of: "Password")
        else { throw ForeignFormat.foreign("its first line does not name Title, Username and Password") }
        let address = header.firstIndex(of: "URL")
        let others = ["Notes", "TOTP"].compactMap { name in header.firstIndex(of: name).map { (name, $0) } }
        var found = ForeignEntries()
        for record in records.dropFirst() {
            let place = "line \(record.line)"
            found.add(at: place) { () throws(TokenKeepError) in
                guard record.fields.count == header.count else {
                    throw TokenKeepError(
                        .corrupt, "the line has \(record.fields.count) fields instead of \(header.count)")
                }
                let url = try address.map { (index) throws(TokenKeepError) in
                    try ForeignText.name(unquoted(record.fields[index]))
                }
                let rest = others.first { isFilled(record.fields[$0.1]) }
                return ForeignEntry(
                    name: try ItemName(
                        service: ForeignText.name(unquoted(record.fields[title])),
                        account: ForeignText.name(unquoted(record.fields[user]))),
                    secret: try unquoted(record.fields[password]), place: place, range: record.range,
                    address: url?.isEmpty == false ? url : nil, rest: rest?.0)
            }
        }
        return found
    }

    /// Splits the text into records; nil if a quotation does not end.
    private static func records(of bytes: UnsafeRawBufferPointer) -> [Record]? {
        var records: [Record] = []
        var (line, position) = (1, ByteOrderMark.length(of: bytes))
        while position < bytes.count {
            let (start, first) = (position, line)
            var fields: [Slice<UnsafeRawBufferPointer>] = []
            var isEnd = false
            while !isEnd {
                let field = position
                var isQuoted = false
                while position < bytes.count {
                    let byte = bytes[position]
                    if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                    if byte == UInt8(ascii: "\n") { line += 1 }
                    if !isQuoted, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") { break }
                    position += 1
                }
                guard !isQuoted else { return nil }
                isEnd = position == bytes.count || bytes[position] == UInt8(ascii: "\n")
                let end = isEnd && position > field && bytes[position - 1] == 0x0D ? position - 1 : position
                fields.append(bytes[field..<end])
                position += 1
            }
            guard fields.count > 1 || fields[0].count > 0 else { continue }
            records.append(Record(fields: fields, line: first, range: start..<min(position, bytes.count)))
        }
        return records
    }

    private static func isFilled(_ field: Slice<UnsafeRawBufferPointer>) -> Bool {
        field.contains { $0 != UInt8(ascii: "\"") }
    }

    private static func unquoted(_ field: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes {
        let quote = UInt8(ascii: "\"")
        guard field.first == quote, field.last == quote, field.count > 1 else { return try ForeignText.secret(field) }
        return try SecretBytes(capacity: field.count) { buffer throws(TokenKeepError) in
            var (count, isSecond) = (0, false)
            for byte in field.dropFirst().dropLast() {
                // Two quotation marks in a quoted field stand for one quotation mark.
                isSecond = byte == quote && !isSecond
                if isSecond { continue }
                buffer[count] = byte
                count += 1
            }
            return count
        }
    }
}

"""An archive: the vectors of one family in one text file, so that a change shows as the lines that it changes.

    # a comment
    vector NAME                 begins a vector
    KEY: VALUE                  what is loaded and what comes of it: vector_file.py
    file PATH LENGTH            a file and, in the indented lines below, its bytes in hexadecimal, 64 in each
    link PATH TARGET            a symbolic link; bytes of its target may be written as %XX
    same PATH NAME OTHER-PATH   a file with the bytes of a file above in this archive: of vector NAME, which may be this one

Empty lines separate vectors. The lines of a vector stand in this order, those of its files in the order of their paths.
"""

from urllib.parse import quote, unquote_to_bytes

from vector_file import Link, decode_fields, encode_fields

LINE_BYTES = 64
INDENT = "\n    "
HEAD = "# Vectors that make_vectors.py writes; vector_archive.py describes the lines.\n"


def encode_archive(vectors):
    seen = {}
    return HEAD + "".join("\n" + "\n".join(vector_lines(vector, seen)) + "\n" for vector in vectors)


def vector_lines(vector, seen):
    yield f"vector {vector.name}"
    yield from encode_fields(vector)
    for path, content in sorted(vector.files.items()):
        if isinstance(content, Link):
            yield f"link {path} {quote(content)}"
        elif content in seen:
            yield "same {} {} {}".format(path, *seen[content])
        else:
            if len(content) > LINE_BYTES:
                seen[content] = vector.name, path
            lines = (content[start : start + LINE_BYTES].hex() for start in range(0, len(content), LINE_BYTES))
            yield INDENT.join([f"file {path} {len(content)}", *lines])


def decode_archive(text):
    """{name: Vector}"""
    vectors = {}
    for block in text.removeprefix(HEAD).strip("\n").split("\n\n"):
        first, *lines = block.replace(INDENT, " ").split("\n")
        word, name = first.split(" ")
        if word != "vector" or name in vectors:
            raise ValueError(f"{first!r} does not begin a new vector")
        files, fields = {}, {}
        for line in lines:
            word, _, rest = line.partition(" ")
            if word in ("file", "link", "same"):
                path, _, rest = rest.partition(" ")
                files[path] = decode_file(word, rest, lambda other, at: (files if other == name else vectors[other].files)[at])
            else:
                fields[word.removesuffix(":")] = rest
        vectors[name] = decode_fields(name, fields, files)
    return vectors


def decode_file(word, rest, earlier):
    if word == "link":
        return Link(unquote_to_bytes(rest))
    if word == "same":
        return earlier(*rest.split(" "))
    length, _, digits = rest.partition(" ")
    data = bytes.fromhex(digits)
    if len(data) != int(length):
        raise ValueError(f"a file has {len(data)} bytes instead of {length}")
    return data

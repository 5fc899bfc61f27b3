"""Power loss: the files of a directory as they would be after it, made from a trace of the system calls before it."""
import os
import re

# The calls that change files, without those that only reserve room.
CHANGES = "openat,write,pwrite64,ftruncate,fdatasync,fsync,renameat,unlinkat,symlinkat,linkat,mkdirat"
# Notes every byte.
TRACE = ("strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", "trace=" + CHANGES, "-o")

TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
DIRECTORY = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")


def decoded(text):
    return bytes.fromhex(text.replace("\\x", ""))


class File:
    def __init__(self, content=b""):
        self.content = self.synced = content


class Disk:
    """The files below `root`, as programs see them and as they lie on the disk.

    A file's bytes are on the disk after fsync of the file, a name in a directory after fsync of the directory.
    """

    def __init__(self, root):
        self.root = root
        self.seen = {}
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.seen[path] = File(file.read())
        self.on_disk = dict(self.seen)
        self.offsets = {}

    def apply(self, line):
        """Applies a line of the trace.

        Returns: whether the line changed anything.
        """
        match = re.match(r"\d+ +([a-z_0-9]+)\((.*)\) += (\d+)", line)
        if not match or self.root not in self.plain(line):
            return False
        name, arguments, result = match.group(1), match.group(2), int(match.group(3))
        paths = [self.plain(path) for path in DIRECTORY.findall(arguments)]
        texts = [decoded(text) for text in TEXT.findall(arguments)]
        return getattr(self, "on_" + name)(paths, texts, arguments, result)

    @staticmethod
    def plain(text):
        """A text whose escaped bytes are characters."""
        return re.sub(r"(?:\\x[0-9a-f]{2})+", lambda match: decoded(match.group()).decode("latin-1"), text)

    def on_openat(self, paths, texts, arguments, _):
        if "O_TMPFILE" in arguments or "O_CREAT" not in arguments:
            return False
        path = os.path.join(paths[0], os.fsdecode(texts[0]))
        if path in self.seen and "O_TRUNC" in arguments:
            self.seen[path].content = b""
        self.seen.setdefault(path, File())
        return True

    def on_write(self, paths, texts, *_):
        if paths[0] not in self.seen:
            return False
        self.seen[paths[0]].content += texts[0]
        return True

    def on_pwrite64(self, paths, texts, arguments, _):
        file, at = self.seen[paths[0]], int(arguments.rsplit(", ", 1)[1])
        before = file.content.ljust(at, b"\0")
        file.content = before[:at] + texts[0] + before[at + len(texts[0]):]
        return True

    def on_fdatasync(self, paths, *_):
        self.seen[paths[0]].synced = self.seen[paths[0]].content
        return True

    def on_fsync(self, paths, *rest):
        if paths[0] in self.seen:
            return self.on_fdatasync(paths, *rest)
        for files in (self.on_disk, self.seen):
            for path in [path for path in files if os.path.dirname(path) == paths[0]]:
                if path in self.seen:
                    self.on_disk[path] = self.seen[path]
                else:
                    del self.on_disk[path]
        return True

    def on_renameat(self, paths, texts, *_):
        old, new = (os.path.join(path, os.fsdecode(text)) for path, text in zip(paths, texts))
        self.seen[new] = self.seen.pop(old)
        return True

    def on_unlinkat(self, paths, texts, *_):
        return self.seen.pop(os.path.join(paths[0], os.fsdecode(texts[0])), None) is not None

    def on_mkdirat(self, *_):
        raise AssertionError("a directory was made, which this does not follow")

    on_symlinkat = on_linkat = on_ftruncate = on_mkdirat

    def restore(self, keeps_names):
        """Makes the files on the disk those after the loss. `keeps_names`: names are on the disk before their fsync."""
        names = self.seen if keeps_names else self.on_disk
        for folder, _, files in os.walk(self.root):
            for name in files:
                os.remove(os.path.join(folder, name))
        for path, file in names.items():
            with open(path, "wb") as restored:
                restored.write(file.synced)
            os.chmod(path, 0o600)

"""The module with a home on a full disk, or on a FUSE file system whose server does not answer."""

import contextlib, ctypes, os, shutil, struct, threading

from world import PASSWORD, SUCCESS, Skipped, case, check, run, run_passing

NEW = "a wholly other 1"
CALLS = ["auth", "session", "close", "passwd"]
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def full_disk(world):
    """Gives the user a home without a free byte, with a vault that has the login's password."""
    check(run("mount", "-t", "tmpfs", "-o", f"size=2m,uid={world.uid},gid={world.gid},mode=700", "tokenkeep-test",
              world.home).returncode == 0, "no tmpfs")
    try:
        world.make_vault()
        filler = world.home / "filler"
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass
        yield filler
    finally:
        world.purge()
        run("umount", "--lazy", world.home)


class DeafServer:
    """A FUSE file system in place of the home. Its server reads requests, or leaves them unread, and answers none."""

    def __init__(self, world, reads):
        if not os.path.exists("/dev/fuse"):
            raise Skipped("there is no /dev/fuse")
        self.home = world.home
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        error = libc.mount(b"tokenkeep-test", os.fsencode(self.home), b"fuse.tokenkeep-test", 6, options.encode())
        check(error == 0, f"mount: {os.strerror(ctypes.get_errno())}")
        if reads:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Answers the kernel's greeting alone."""
        with contextlib.suppress(OSError):
            (number,) = struct.unpack_from("<Q", os.read(self.device, 1 << 20), 8)
            greeting = struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 12, 9, 4096, 1, 1, 0, 0)
            os.write(self.device, struct.pack("<IiQ", 16 + len(greeting), 0, number) + greeting)
            while os.read(self.device, 1 << 20):
                pass

    def close(self):
        """Ends the file system with the requests that wait, and the processes that nothing else can end."""
        libc.umount2(os.fsencode(self.home), 1 | 2)
        os.close(self.device)


def sign_in(world, service, host=None):
    """Runs all calls, whose limits are passed, also while a process of the user that the kernel cannot end is left. Returns codes and messages."""
    encode = lambda text: text.encode().hex()
    words = [host or world.host, service, world.user, encode(PASSWORD), encode(NEW), "--", *CALLS]
    lines = (world.as_user(*words) if host else run_passing(*words)).stdout.decode().splitlines()
    return [line for line in lines if not line.startswith(("children ", "message "))], \
        [line for line in lines if line.startswith("message ")]


@case
def a_login_on_a_full_disk_opens_the_vault(world):
    with full_disk(world) as filler:
        lines, _ = world.sign_in(world.service(""), ["auth", "session", "close"])
        check(lines == [f"{call} {SUCCESS}" for call in ("auth", "session", "close")], f"{lines}")
        check(world.load() == "secret", "locked")
        filler.unlink()


@case
def a_change_on_a_full_disk_keeps_one_of_the_two_passwords(world):
    host = world.base / "setuid-host"
    shutil.copy(world.host, host)
    host.chmod(0o4755)
    with full_disk(world) as filler:
        world.sign_in(world.service(""), ["auth", "session"])
        lines, _ = world.sign_in(world.service(""), ["passwd"], new=NEW, host=host, as_user=True)
        world.login_password = None
        check(lines[-1] == f"passwd {SUCCESS}", f"{lines}")
        filler.unlink()
        check(world.opens_with(PASSWORD) != world.opens_with(NEW), f"{lines}")
        check(world.opens_with(NEW) or "vault keeps" in lines[-2], f"{lines}")


@case
def a_home_whose_server_does_not_answer_changes_no_result(world):
    expected, _ = sign_in(world, world.baseline)
    for reads in (False, True):
        world.set_login_password(PASSWORD)
        world.make_vault()
        server = DeafServer(world, reads)
        try:
            lines, told = sign_in(world, world.service("timeout=1"))
        finally:
            server.close()
        check(lines == expected and len(told) <= 1, f"{lines} {told}, not {expected}")
        world.check_nothing_runs()
    world.login_password = None

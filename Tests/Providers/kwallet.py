"""KWallet without a window: the wallet is made and opened as pam_kwallet does, with the hash of a password.

The service is kwalletd6 before KDE Frameworks 6.14, ksecretd since.
"""
import glob
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import Waited, wait_until  # noqa: E402

CONFIGURATION = """[Wallet]
Enabled=true
First Use=false
Default Wallet=kdewallet
Use One Wallet=true
Close When Idle=false
Prompt on Open=false

[KSecretD]
Enabled=true

[org.freedesktop.secrets]
apiEnabled=true
"""

HASH = bytes(range(56))  # as long as PBKDF2 makes it; of any password


class KWallet:
    name = "KWallet"
    package = "kwallet6"

    def __init__(self, surroundings):
        self.around = surroundings
        surroundings.write("config/kwalletrc", CONFIGURATION)
        names = ["ksecretd", "kwalletd6"]
        self.program = next(name for name in names if os.path.exists(f"{surroundings.root}/usr/bin/{name}"))
        self.start()

    def start(self):
        """The service reads the hash from a pipe, and takes its environment from who connects to a socket."""
        reading, writing = os.pipe()
        os.write(writing, HASH)
        path = f"{self.around.outside}/login"
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(1)
            self.process = self.around.start(
                [self.program, "--pam-login", str(reading), str(listener.fileno())], PAM_KWALLET5_LOGIN=path,
                descriptors=[reading, listener.fileno()])
        os.close(reading)
        os.close(writing)
        with socket.socket(socket.AF_UNIX) as login:
            login.connect(path)
        self.around.wait_for_name("org.freedesktop.secrets")
        self.unlock()

    def unlock(self):
        """kwalletd6 calls an open wallet locked until somebody asks for it. The prompt shows nothing."""
        answer = self.service("Unlock", f"['{self.collection()}']")
        prompt = answer.split("objectpath ")[-1].split("'")[1]
        if prompt != "/":
            self.around.call(prompt, "org.freedesktop.Secret.Prompt.Prompt", "")
        self.around.wait_for_collection()

    def restart(self):
        """Ends the service once it has written its file, some seconds after the last change."""
        now = time.time()
        try:
            wait_until(lambda: self.written() >= now, "a file of the wallet", patience=15)
        except Waited:
            pass  # nothing has changed
        self.around.stop(self.process)
        self.start()

    def written(self):
        return max(map(os.path.getmtime, glob.glob(f"{self.around.outside}/data/kwalletd/*.kwl")), default=0)

    def lock(self):
        self.service("Lock", f"['{self.collection()}']")
        self.around.wait_for_collection(locked=True)

    def collection(self):
        """The path of the default collection, which this service makes after its name."""
        return wait_until(self.default, lambda: f"a default collection ({self.around.last_errors()})")

    def default(self):
        path = (self.service("ReadAlias", "default") or "'/'").split("'")[1]
        return path if path != "/" else None

    def service(self, method, *arguments):
        return self.around.call("/org/freedesktop/secrets", f"org.freedesktop.Secret.Service.{method}", *arguments)

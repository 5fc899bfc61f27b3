"""gnome-keyring, opened as a login does."""


class GnomeKeyring:
    name = "gnome-keyring"
    package = "gnome-keyring"

    def __init__(self, surroundings):
        self.around = surroundings
        self.start()

    def start(self):
        self.process = self.around.start(
            ["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"], text="password of the keyring")
        self.around.wait_for_collection()

    def restart(self):
        self.around.stop(self.process)
        self.start()

    def lock(self):
        self.around.call(
            "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", "['/org/freedesktop/secrets/aliases/default']")
        self.around.wait_for_collection(locked=True)

"""KeePassXC without a window, with a database whose root group it offers; it asks its user nothing."""

import subprocess

from surroundings import PATIENCE

CONFIGURATION = """[General]
ConfigVersion=2
UpdateCheckMessageShown=true
SingleInstance=false
AutoSaveAfterEveryChange=false
AutoSaveOnExit=true

[GUI]
CheckForUpdates=false

[FdoSecrets]
Enabled=true
ShowNotification=false
ConfirmAccessItem=false
ConfirmDeleteItem=false
UnlockBeforeSearch=false
"""

DATABASE = """<?xml version="1.0" encoding="UTF-8"?>
<KeePassFile>
  <Meta>
    <DatabaseName>Passwords</DatabaseName>
    <CustomData>
      <Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>{00112233-4455-6677-8899-aabbccddeeff}</Value></Item>
    </CustomData>
  </Meta>
  <Root><Group><UUID>ABEiM0RVZneImaq7zN3u/w==</UUID><Name>Root</Name></Group></Root>
</KeePassFile>
"""

PASSWORD = "database password"


class KeePassXC:
    name = "KeePassXC"
    package = "keepassxc"

    def __init__(self, surroundings):
        self.around = surroundings
        self.database = f"{surroundings.inside}/passwords.kdbx"
        surroundings.write("config/keepassxc/keepassxc.ini", CONFIGURATION)
        surroundings.write("database.xml", DATABASE)
        made = surroundings.start(
            ["keepassxc-cli", "import", "--quiet", "--set-password", "--decryption-time", "100",
             f"{surroundings.inside}/database.xml", self.database], text=f"{PASSWORD}\n{PASSWORD}\n")
        if made.wait(PATIENCE) != 0:
            raise subprocess.SubprocessError("keepassxc-cli makes no database")
        self.start()

    def start(self):
        """The database is opened by a message: Debian 13's 2.7.10 crashes when it reads the password (issue 13521)."""
        self.process = self.around.start(["keepassxc", self.database])
        self.around.wait_for_collection(locked=True)
        self.window("openDatabase", self.database, PASSWORD)
        self.around.wait_for_collection()

    def restart(self):
        self.lock()  # which writes the file
        self.around.stop(self.process)
        self.start()

    def lock(self):
        self.window("lockAllDatabases")
        self.around.wait_for_collection(locked=True)

    def window(self, method, *arguments):
        name = "org.keepassxc.KeePassXC.MainWindow"
        self.around.call("/keepassxc", f"{name}.{method}", *arguments, to=name)

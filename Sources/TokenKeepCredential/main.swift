import Glibc

exit(CredentialProgram.run())

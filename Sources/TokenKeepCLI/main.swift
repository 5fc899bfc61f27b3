import Glibc

exit(CommandRunner.run())

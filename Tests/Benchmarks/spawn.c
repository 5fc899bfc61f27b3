/* How long a whole process takes, from spawn to exit. Its output goes nowhere. Usage: spawn ROUNDS PROGRAM
 * [ARGUMENT...] */
#define _GNU_SOURCE
#include "stopwatch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv) {
    static stopwatch watch;
    posix_spawn_file_actions_t quiet;
    if (argc < 3 || posix_spawn_file_actions_init(&quiet) != 0 ||
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) != 0)
        return 2;
    for (int round = 0; round < atoi(argv[1]); round++) {
        pid_t child;
        int status = 0;
        double start = stopwatch_now();
        if (posix_spawn(&child, argv[2], &quiet, NULL, argv + 2, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0)
            return 1;
        stopwatch_add(&watch, stopwatch_now() - start);
    }
    stopwatch_print(&watch, "start", 1);
    return 0;
}

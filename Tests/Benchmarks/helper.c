/* One run of a helper: prints its microseconds from spawn to exit, and the KiB of its resident memory. Usage:
 * helper REQUEST PROGRAM [ARGUMENT...]; the file REQUEST is its standard input. */
#define _GNU_SOURCE
#include "stopwatch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv) {
    posix_spawn_file_actions_t files;
    struct rusage usage;
    pid_t child;
    int status = 0;
    if (argc < 3 || posix_spawn_file_actions_init(&files) != 0 ||
        posix_spawn_file_actions_addopen(&files, 0, argv[1], O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) != 0)
        return 2;
    double start = stopwatch_now();
    if (posix_spawnp(&child, argv[2], &files, NULL, argv + 2, environ) != 0 ||
        wait4(child, &status, 0, &usage) != child || status != 0)
        return 1;
    printf("%.1f %ld\n", stopwatch_now() - start, usage.ru_maxrss);
    return 0;
}

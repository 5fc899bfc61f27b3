/* The disk's floor: what any durable save of one small file costs, and any read of one (open, fstat, read,
 * close). Usage: floor DIRECTORY ROUNDS */
#define _GNU_SOURCE
#include "stopwatch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int save(int directory, const char *bytes, size_t length) {
    int file = openat(directory, "floor.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, bytes, length) != (ssize_t)length || fdatasync(file) != 0)
        return -1;
    close(file);
    return renameat(directory, "floor.tmp", directory, "floor") != 0 || fsync(directory) != 0;
}

static int load(int directory, char *bytes, size_t length) {
    struct stat status;
    int file = openat(directory, "floor", O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || read(file, bytes, length) <= 0)
        return -1;
    return close(file);
}

int main(int argc, char **argv) {
    static stopwatch watch;
    static char bytes[420];
    if (argc != 3)
        return 2;
    int directory = open(argv[1], O_RDONLY | O_DIRECTORY);
    for (int round = 0; round < atoi(argv[2]); round++) {
        double start = stopwatch_now();
        if (save(directory, bytes, sizeof bytes) != 0)
            return 1;
        stopwatch_add(&watch, stopwatch_now() - start);
    }
    stopwatch_print(&watch, "save", 1);
    for (int round = 0; round < 2000; round++) {
        double start = stopwatch_now();
        if (load(directory, bytes, sizeof bytes) != 0)
            return 1;
        stopwatch_add(&watch, stopwatch_now() - start);
    }
    stopwatch_print(&watch, "load", 1);
    return 0;
}

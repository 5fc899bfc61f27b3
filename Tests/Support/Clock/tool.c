/* test-clock run SLOWNESS COMMAND…: runs a command whose programs live by a test clock of their own. What it
 * leaves running ends with it, however it ends.
 * test-clock advance SECONDS: sets the clock of the environment forward.
 * test-clock wall SECONDS: sets the programs' wall clock so far ahead of the real one; negative: behind.
 * test-clock pass PID [ROUNDS]: waits until a thread of the process waits for a moment and has looked at the
 * clock ROUNDS times (2) meanwhile, and sets the clock to that moment.
 * test-clock now: prints what the clock shows, in seconds. */
#define _GNU_SOURCE
#include "include/test_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1e9

static int fail(const char *what) {
    perror(what);
    return 125;
}

/* Copies the library beside this program to a place that every user can read. */
static int copy_library(const char *target) {
    char path[PATH_MAX], source[PATH_MAX + 16], bytes[65536];
    if (realpath("/proc/self/exe", path) == NULL)
        return 0;
    snprintf(source, sizeof source, "%s/preload.so", dirname(path));
    int from = open(source, O_RDONLY | O_CLOEXEC), to = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t count = -1;
    if (from >= 0 && to >= 0 && fchmod(to, 0755) == 0) {
        while ((count = read(from, bytes, sizeof bytes)) > 0 && write(to, bytes, (size_t)count) == count)
            continue;
    }
    close(from);
    close(to);
    return count == 0;
}

/* The library goes before the libraries that are preloaded already. A clock within another one has its
 * library. */
static int preload_library(const char *library) {
    char preload[2 * PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    if (others != NULL && strstr(others, "/tokenkeep-clock.") != NULL)
        return 1;
    snprintf(preload, sizeof preload, "%s%s%s", library, others == NULL ? "" : ":",
             others == NULL ? "" : others);
    return setenv("LD_PRELOAD", preload, 1) == 0;
}

/* Waits for the command. Others that end meanwhile were left to this process by parents that have ended. */
static int wait_for(pid_t command, int *status) {
    pid_t ended;
    do
        ended = wait(status);
    while (ended != command && (ended > 0 || errno == EINTR));
    return ended == command;
}

/* Kills what the command has left: servers of a test that was killed. A process that dies leaves its children
 * here, so the list is read until it is empty; another user's process cannot be killed. */
static void kill_the_rest(void) {
    char path[64];
    int status;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int killed = 1; killed > 0;) {
        killed = 0;
        FILE *children = fopen(path, "r");
        for (int child; children != NULL && fscanf(children, "%d", &child) == 1;)
            killed += kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child;
        if (children != NULL)
            fclose(children);
    }
}

static int run(uint32_t slowness, char **command) {
    char directory[] = "/tmp/tokenkeep-clock.XXXXXX", path[64], library[64];
    int status;
    if (mkdtemp(directory) == NULL)
        return fail(directory);
    snprintf(path, sizeof path, "%s/page", directory);
    snprintf(library, sizeof library, "%s/preload.so", directory);
    test_clock_page *page = test_clock_open(path);
    if (page == NULL || chmod(path, 0666) != 0 || chmod(directory, 0755) != 0 || !copy_library(library))
        return fail(directory);
    test_clock_set_slowness(page, slowness);
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        /* The command does not go on if this process is killed. */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
            _exit(fail("prctl"));
        if (setenv(TEST_CLOCK_VARIABLE, path, 1) == 0 && preload_library(library))
            execvp(command[0], command);
        _exit(fail(command[0]));
    }
    int has_ended = child > 0 && wait_for(child, &status);
    kill_the_rest();
    unlink(path);
    unlink(library);
    rmdir(directory);
    if (!has_ended)
        return fail("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Also a process whose parent has not waited for it has ended. */
static int has_ended(pid_t process) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 1;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    fclose(file);
    return state == 'Z' || state == 'X';
}

static int pass(test_clock_page *page, pid_t process, int rounds) {
    const struct timespec pause = {0, 1000000};
    int64_t next;
    while ((next = test_clock_next_deadline(page, process, rounds)) == INT64_MAX) {
        if (has_ended(process))
            return fprintf(stderr, "test-clock: process %d has ended\n", (int)process), 125;
        nanosleep(&pause, NULL);
    }
    int64_t left = next - test_clock_now(page);
    if (left > 0)
        test_clock_advance(page, left);
    return 0;
}

int main(int count, char **arguments) {
    const char *action = count > 1 ? arguments[1] : "";
    if (strcmp(action, "run") == 0 && count > 3 && atoi(arguments[2]) > 0)
        return run((uint32_t)atoi(arguments[2]), arguments + 3);
    test_clock_page *page = test_clock_of_environment();
    if (page == NULL)
        return fail(TEST_CLOCK_VARIABLE);
    if (strcmp(action, "advance") == 0 && count == 3)
        test_clock_advance(page, (int64_t)(atof(arguments[2]) * SECOND));
    else if (strcmp(action, "wall") == 0 && count == 3)
        test_clock_set_wall(page, (int64_t)(atof(arguments[2]) * SECOND));
    else if (strcmp(action, "pass") == 0 && (count == 3 || count == 4))
        return pass(page, atoi(arguments[2]), count == 4 ? atoi(arguments[3]) : TEST_CLOCK_ROUNDS);
    else if (strcmp(action, "now") == 0 && count == 2)
        printf("%.9f\n", (double)test_clock_now(page) / SECOND);
    else
        return fprintf(stderr, "usage: test-clock run SLOWNESS COMMAND… | advance SECONDS | wall SECONDS | "
                               "pass PID [ROUNDS] | now\n"),
               2;
    return 0;
}

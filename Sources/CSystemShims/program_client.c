/* One request to a program that is started for it, and its reply. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time for the end of a program that was killed. A driver may keep it in the kernel. */
#define END_MS 50

/* Killed programs that had not ended by then. While there are as many as places, none is started. */
static _Atomic pid_t lingering[4];

enum { PLACES = sizeof lingering / sizeof lingering[0] };

static void linger(pid_t process) {
    for (int place = 0; place < PLACES; place++) {
        pid_t none = 0;
        if (atomic_compare_exchange_strong(&lingering[place], &none, process))
            return;
    }
}

/* Waits for the lingering programs that have ended by now. 0 if all places are taken. */
static int reap_lingering(void) {
    int free_places = 0;
    for (int place = 0; place < PLACES; place++) {
        /* The entry leaves the table before the wait: once one thread has waited for a process, another
         * process may get its number. */
        pid_t process = atomic_exchange(&lingering[place], 0);
        if (process != 0 && waitpid(process, NULL, WNOHANG) == 0)
            linger(process);
        else
            free_places++;
    }
    return free_places;
}

/* Ends the program, whose reply has come or has not come in time. */
static void end(const tokenkeep_program *program) {
    if (tokenkeep_program_kill(program->process, END_MS) == ETIMEDOUT)
        linger(program->process);
    tokenkeep_program_let_go(program);
}

/* Writes the request. A pipe has room for a message of one page, so the write does not wait. */
static int send_request(int input, const void *request, size_t length) {
    ssize_t count = tokenkeep_write_pipe(input, request, length);
    /* A program that refuses may have replied and ended before it read the request. */
    return count == (ssize_t)length || (count < 0 && errno == EPIPE) ? 0 : EPROTO;
}

/* Reads the reply, which a program writes with one call, so that one read returns the whole reply. */
static int receive(int output, int64_t deadline, uint8_t *reply, size_t capacity, size_t *reply_length) {
    for (;;) {
        ssize_t count = read(output, reply, capacity);
        if (count > 0) {
            *reply_length = (size_t)count;
            return 0;
        }
        if (count == 0 || (errno != EAGAIN && errno != EINTR))
            return EPROTO;
        int left = tokenkeep_timeout_until(deadline);
        if (left == 0)
            return ETIMEDOUT;
        struct pollfd wait = {.fd = output, .events = POLLIN};
        (void)poll(&wait, 1, left);
    }
}

int tokenkeep_program_ask(const char *path, const char *argument, char *const environment[],
                          const void *request, size_t length, uint32_t timeout_ms, uint8_t *reply,
                          size_t capacity, size_t *reply_length) {
    int64_t deadline = tokenkeep_deadline_after(timeout_ms);
    tokenkeep_program program;
    if (!reap_lingering())
        return EBUSY;
    int error = tokenkeep_program_start(path, argument, environment, 0, &program);
    if (error != 0)
        return error;
    error = send_request(program.input, request, length);
    (void)close(program.input);
    if (error == 0)
        error = receive(program.output, deadline, reply, capacity, reply_length);
    (void)close(program.output);
    end(&program);
    return error;
}

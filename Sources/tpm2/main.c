/* tokenkeep-tpm2: seals with the TPM, for its user or as root's helper (docs/device-helper.md). */
#define _GNU_SOURCE
#include "connection.h"
#include "listener.h"
#include "memory.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TCTI "device:/dev/tpmrm0"
/* The request must have come by then. */
#define INPUT_S 10

/* Exit codes as those of tokenkeep. */
enum { EXIT_USAGE = 2, EXIT_UNAVAILABLE = 4 };

struct options {
    const char *tcti, *socket, *locks;
    bool is_once, is_connection;
};

static int usage(void) {
    fprintf(stderr, "usage: tokenkeep-tpm2 --once [--tcti CONF]\n"
                    "       tokenkeep-tpm2 --socket PATH [--tcti CONF]\n"
                    "       tokenkeep-tpm2 --connection [--locks FILE] [--tcti CONF]\n");
    return EXIT_USAGE;
}

static bool read_value(char *arguments[], int count, int *index, const char *name, const char **value) {
    if (strcmp(arguments[*index], name) != 0 || *index + 1 >= count || *value != NULL)
        return false;
    *value = arguments[++*index];
    return (*value)[0] != '\0';
}

static bool read_options(int count, char *arguments[], struct options *options) {
    for (int index = 1; index < count; index++) {
        if (strcmp(arguments[index], "--once") == 0)
            options->is_once = true;
        else if (strcmp(arguments[index], "--connection") == 0)
            options->is_connection = true;
        else if (!read_value(arguments, count, &index, "--tcti", &options->tcti) &&
                 !read_value(arguments, count, &index, "--socket", &options->socket) &&
                 !read_value(arguments, count, &index, "--locks", &options->locks))
            return false;
    }
    return options->is_once + options->is_connection + (options->socket != NULL) == 1 &&
           (options->locks == NULL || options->is_connection);
}

/* The environment would make tss2 log secrets, and libcrypto load code. */
static const char *clear_environment(const struct options *options) {
    const char *given = options->is_once ? secure_getenv("TOKENKEEP_TCTI") : NULL;
    const char *tcti = options->tcti != NULL ? options->tcti : given;
    /* The value stays after clearenv: only the table of pointers goes. */
    (void)clearenv();
    if (setenv("TSS2_LOG", "all+none", 1) != 0)
        return NULL;
    return tcti != NULL && tcti[0] != '\0' ? tcti : DEFAULT_TCTI;
}

/* Reads standard input to its end. A message that is too long is one byte too long. */
static size_t read_message(uint8_t message[MESSAGE_MAX + 1]) {
    size_t length = 0;
    ssize_t count;
    do {
        count = read(STDIN_FILENO, message + length, MESSAGE_MAX + 1 - length);
        if (count > 0)
            length += (size_t)count;
    } while ((count > 0 && length <= MESSAGE_MAX) || (count < 0 && errno == EINTR));
    return length;
}

static int run_once(const char *tcti) {
    static uint8_t message[MESSAGE_MAX + 1];
    enum reason reason;
    (void)alarm(INPUT_S);
    size_t length = read_message(message);
    (void)alarm(0);
    return work_on(message, length, geteuid(), tcti, STDOUT_FILENO, &reason) ? 0 : EXIT_UNAVAILABLE;
}

/* Files that are opened must not become standard ones. */
static bool has_standard_files(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) != descriptor)
            return false;
    }
    return true;
}

int main(int count, char *arguments[]) {
    struct options options = {0};
    if (!has_standard_files())
        return EXIT_UNAVAILABLE;
    if (!read_options(count, arguments, &options))
        return usage();
    const char *tcti = clear_environment(&options);
    if (tcti == NULL)
        return EXIT_UNAVAILABLE;
    memory_protect();
    (void)signal(SIGPIPE, SIG_IGN);
    if (options.socket != NULL)
        return listener_run(options.socket, tcti);
    return options.is_connection ? connection_run(STDIN_FILENO, tcti, options.locks) : run_once(tcti);
}

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
/* The limit for reading a request from standard input, in seconds. */
#define INPUT_S 10

/* The exit codes of the program tokenkeep for the same failures. */
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

/* Clears the environment: its variables could make tss2 log secrets, and libcrypto load code. Returns the
 * TCTI.
 */
static const char *clear_environment(const struct options *options) {
    const char *given = options->is_once ? secure_getenv("TOKENKEEP_TCTI") : NULL;
    const char *tcti = options->tcti != NULL ? options->tcti : given;
    /* The text of a variable stays valid after clearenv, which removes only the table of pointers. */
    (void)clearenv();
    if (setenv("TSS2_LOG", "all+none", 1) != 0)
        return NULL;
    return tcti != NULL && tcti[0] != '\0' ? tcti : DEFAULT_TCTI;
}

/* Reads standard input to its end. Returns the length; MESSAGE_MAX + 1 for every message that is too long. */
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

/* Whether the descriptors 0 to 2 are open. Otherwise a file that is opened later would become standard input,
 * output or error. */
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

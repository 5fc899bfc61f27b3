/* The Assuan protocol with pinentry: lines of at most 1000 bytes, %-escapes, one reply to each command. */
#define _GNU_SOURCE
#include "pinentry.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { line_limit = 1000, reply_limit = 1000, default_ms = 60000, goodbye_ms = 500, tries = 3 };
/* libgpg-error's, in the lower 16 bits of a code. */
enum { gpg_timeout = 62, gpg_canceled = 99, gpg_not_confirmed = 114, gpg_fully_canceled = 198 };

extern char **environ;

struct answer {
    char *bytes;
    size_t capacity, length;
};

struct dialog {
    int socket, cancel_fd;
    pid_t process;
    long long deadline;
    bool is_repeated; /* pinentry made the user type the answer twice */
    size_t start, end;
    char buffer[line_limit + 1];
};

static long long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Starts pinentry. Its signals are as in a new session, whatever the program does with its own. */
static bool start(struct dialog *dialog, const char *program) {
    char *arguments[] = {(char *)program, NULL};
    int ends[2];
    sigset_t none, all;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(&dialog->process, program, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error != 0)
        close(ends[0]);
    dialog->socket = ends[0];
    return error == 0;
}

/* Waits for bytes, the deadline or the cancellation. */
static tokenkeep_status wait_for_bytes(const struct dialog *dialog) {
    struct pollfd descriptors[] = {{dialog->socket, POLLIN, 0}, {dialog->cancel_fd, POLLIN, 0}};
    for (;;) {
        long long left = dialog->deadline - now_ms();
        /* Looked at first: a pinentry that never ceases to write is always readable. */
        if (left <= 0)
            return TOKENKEEP_TIMED_OUT;
        int count = poll(descriptors, 2, (int)left);
        if (count < 0 && errno != EINTR)
            return TOKENKEEP_IO;
        if (count > 0 && descriptors[1].revents)
            return TOKENKEEP_CANCELLED;
        if (count > 0)
            return TOKENKEEP_OK;
    }
}

/* The next line, without its newline. It lies in the buffer until the next call. */
static tokenkeep_status next_line(struct dialog *dialog, char **line) {
    for (;;) {
        char *begin = dialog->buffer + dialog->start;
        char *newline = memchr(begin, '\n', dialog->end - dialog->start);
        if (newline) {
            *newline = '\0';
            *line = begin;
            dialog->start = (size_t)(newline + 1 - dialog->buffer);
            return TOKENKEEP_OK;
        }
        memmove(dialog->buffer, begin, dialog->end - dialog->start);
        dialog->end -= dialog->start;
        dialog->start = 0;
        explicit_bzero(dialog->buffer + dialog->end, sizeof dialog->buffer - dialog->end);
        if (dialog->end == sizeof dialog->buffer)
            return TOKENKEEP_IO;
        tokenkeep_status status = wait_for_bytes(dialog);
        if (status != TOKENKEEP_OK)
            return status;
        ssize_t count = recv(dialog->socket, dialog->buffer + dialog->end,
                             sizeof dialog->buffer - dialog->end, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN))
            return TOKENKEEP_UNAVAILABLE;
        if (count > 0)
            dialog->end += (size_t)count;
    }
}

static int hexadecimal(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* Adds the bytes of a D line. */
static tokenkeep_status add_data(struct answer *answer, const char *text) {
    if (answer == NULL)
        return TOKENKEEP_IO;
    while (*text) {
        char byte = *text++;
        if (byte == '%') {
            int high = hexadecimal(text[0]), low = high < 0 ? -1 : hexadecimal(text[1]);
            if (low < 0)
                return TOKENKEEP_IO;
            byte = (char)(high * 16 + low);
            text += 2;
        }
        if (answer->length == answer->capacity)
            return TOKENKEEP_INVALID;
        answer->bytes[answer->length++] = byte;
    }
    return TOKENKEEP_OK;
}

static tokenkeep_status status_of_error(const char *text) {
    unsigned long code = strtoul(text, NULL, 10) & 0xffff;
    if (code == gpg_canceled || code == gpg_not_confirmed || code == gpg_fully_canceled)
        return TOKENKEEP_CANCELLED;
    return code == gpg_timeout ? TOKENKEEP_TIMED_OUT : TOKENKEEP_UNAVAILABLE;
}

static tokenkeep_status send_text(const struct dialog *dialog, const char *text, size_t length) {
    return send(dialog->socket, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length
               ? TOKENKEEP_OK
               : TOKENKEEP_UNAVAILABLE;
}

static bool begins(const char *line, const char *word) {
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\0');
}

/* Reads lines up to OK or ERR. `answer` gets the data; NULL: data breaks the protocol. */
static tokenkeep_status read_reply(struct dialog *dialog, struct answer *answer) {
    for (int count = 0; count < reply_limit; count++) {
        char *line;
        tokenkeep_status status = next_line(dialog, &line);
        if (status != TOKENKEEP_OK)
            return status;
        if (begins(line, "OK"))
            return TOKENKEEP_OK;
        if (begins(line, "ERR"))
            return status_of_error(line + 3);
        if (begins(line, "D"))
            status = line[1] ? add_data(answer, line + 2) : TOKENKEEP_OK;
        else if (begins(line, "S"))
            dialog->is_repeated |= strcmp(line, "S PIN_REPEATED") == 0;
        else if (begins(line, "INQUIRE"))
            status = send_text(dialog, "CAN\n", 4);
        else if (line[0] != '#' && line[0] != '\0')
            status = TOKENKEEP_IO;
        if (status != TOKENKEEP_OK)
            return status;
    }
    return TOKENKEEP_IO;
}

/* Sends a command and reads its reply. An argument that is too long is cut between two characters. */
static tokenkeep_status command(struct dialog *dialog, const char *name, const char *text,
                                struct answer *answer) {
    char line[line_limit + 1];
    size_t length = (size_t)snprintf(line, sizeof line, "%s ", name);
    for (const char *at = text; *at; at++) {
        bool is_start = (*at & 0xc0) != 0x80;
        if (length > line_limit - 16 && is_start)
            break;
        if (*at == '%' || (unsigned char)*at < ' ' || *at == 127)
            length += (size_t)snprintf(line + length, 4, "%%%02X", (unsigned char)*at);
        else if (length < line_limit - 1)
            line[length++] = *at;
    }
    line[length++] = '\n';
    tokenkeep_status status = send_text(dialog, line, length);
    return status == TOKENKEEP_OK ? read_reply(dialog, answer) : status;
}

/* Sends a command that a pinentry may refuse. One that has ended fails at GETPIN. */
static tokenkeep_status set_option(struct dialog *dialog, const char *name, const char *key,
                                   const char *value) {
    char text[256];
    if (value == NULL || *value == '\0')
        return TOKENKEEP_OK;
    snprintf(text, sizeof text, "%s%s", key, value);
    tokenkeep_status status = command(dialog, name, text, NULL);
    return status == TOKENKEEP_UNAVAILABLE ? TOKENKEEP_OK : status;
}

static const char *locale_of_types(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int index = 0; index < 3; index++) {
        const char *value = getenv(names[index]);
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Sends the options by which pinentry can show itself, and the texts. */
static tokenkeep_status prepare(struct dialog *dialog, const struct pinentry *pinentry,
                                const struct pinentry_question *question) {
    char terminal[128], seconds[24];
    const char *terminal_name = getenv("GPG_TTY");
    if (terminal_name == NULL && ttyname_r(STDIN_FILENO, terminal, sizeof terminal) == 0)
        terminal_name = terminal;
    snprintf(seconds, sizeof seconds, "%lld", (dialog->deadline - now_ms()) / 1000);
    const char *const options[][3] = {
        {"OPTION", "ttyname=", terminal_name},
        {"OPTION", "ttytype=", getenv("TERM")},
        {"OPTION", "lc-ctype=", locale_of_types()},
        {"SETTIMEOUT", "", seconds},
        {"SETTITLE", "", pinentry->title},
        {"SETDESC", "", question->description},
        {"SETPROMPT", "", question->prompt},
        {"SETERROR", "", question->error},
        {"SETREPEAT", "", question->is_new ? "Repeat:" : NULL},
    };
    tokenkeep_status status = read_reply(dialog, NULL);
    for (size_t index = 0; status == TOKENKEEP_OK && index < sizeof options / sizeof *options; index++)
        status = set_option(dialog, options[index][0], options[index][1], options[index][2]);
    return status;
}

static tokenkeep_status get_pin(struct dialog *dialog, struct answer *answer) {
    answer->length = 0;
    return command(dialog, "GETPIN", "", answer);
}

/* A pinentry without SETREPEAT is asked twice. */
static tokenkeep_status get_new_pin(struct dialog *dialog, struct answer *answer) {
    char bytes[4096];
    struct answer again = {bytes, sizeof bytes, 0};
    tokenkeep_status status = TOKENKEEP_CANCELLED;
    for (int try = 0; try < tries; try++) {
        status = get_pin(dialog, answer);
        if (status != TOKENKEEP_OK || dialog->is_repeated)
            break;
        status = set_option(dialog, "SETPROMPT", "", "Repeat:");
        if (status == TOKENKEEP_OK)
            status = get_pin(dialog, &again);
        if (status != TOKENKEEP_OK)
            break;
        if (again.length == answer->length && memcmp(again.bytes, answer->bytes, again.length) == 0)
            break;
        status = set_option(dialog, "SETERROR", "", "The two answers differ.");
        if (status != TOKENKEEP_OK)
            break;
        status = TOKENKEEP_CANCELLED;
    }
    explicit_bzero(bytes, sizeof bytes);
    return status;
}

/* Ends pinentry, whatever it does. */
static void finish(struct dialog *dialog) {
    char byte;
    dialog->deadline = now_ms() + goodbye_ms;
    dialog->cancel_fd = -1;
    if (send_text(dialog, "BYE\n", 4) == TOKENKEEP_OK)
        while (wait_for_bytes(dialog) == TOKENKEEP_OK && recv(dialog->socket, &byte, 1, MSG_DONTWAIT) > 0)
            ;
    close(dialog->socket);
    if (waitpid(dialog->process, NULL, WNOHANG) == 0) {
        kill(dialog->process, SIGKILL);
        while (waitpid(dialog->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    explicit_bzero(dialog->buffer, sizeof dialog->buffer);
}

tokenkeep_status pinentry_ask(const struct pinentry *pinentry, const struct pinentry_question *question,
                              char *answer, size_t capacity, size_t *length) {
    struct answer given = {answer, capacity, 0};
    struct dialog dialog = {.cancel_fd = pinentry->cancel_fd};
    dialog.deadline = now_ms() + (pinentry->timeout_ms > 0 ? pinentry->timeout_ms : default_ms);
    if (!start(&dialog, pinentry->program ? pinentry->program : "pinentry"))
        return TOKENKEEP_UNAVAILABLE;
    tokenkeep_status status = prepare(&dialog, pinentry, question);
    if (status == TOKENKEEP_OK)
        status = question->is_new ? get_new_pin(&dialog, &given) : get_pin(&dialog, &given);
    finish(&dialog);
    if (status == TOKENKEEP_OK)
        *length = given.length;
    else
        explicit_bzero(answer, capacity);
    return status;
}

tokenkeep_status pinentry_prompt(void *data, const tokenkeep_prompt *prompt, char *answer, size_t capacity,
                                 size_t *length) {
    bool is_recovery = prompt->kind == TOKENKEEP_PROMPT_RECOVERY;
    struct pinentry_question question = {
        .description = prompt->message,
        .prompt = is_recovery ? "Recovery code:" : "Password:",
        .error = prompt->attempt > 1 ? "That was wrong." : NULL,
        .is_new = prompt->kind == TOKENKEEP_PROMPT_NEW_PASSWORD,
    };
    return pinentry_ask(data, &question, answer, capacity, length);
}

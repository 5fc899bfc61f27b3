#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { size_limit = 65536 };
enum word_kind { WORD, LINE_END, FAULT };

struct reader {
    const char *at, *end;
    unsigned line;
    char *words; /* room for all words of the file */
    char *message;
};

static enum word_kind fault(const struct reader *reader, const char *what) {
    snprintf(reader->message, 256, "line %u: %s", reader->line, what);
    return FAULT;
}

/* The byte at an offset; 0 after the end. The file has no byte 0. */
static char peek(const struct reader *reader, size_t offset) {
    return (size_t)(reader->end - reader->at) > offset ? reader->at[offset] : '\0';
}

static void put(struct reader *reader, char byte) {
    if (byte == '\n')
        reader->line++;
    *reader->words++ = byte;
}

/* A backslash joins lines, within double quotes too. */
static bool skip_joint(struct reader *reader) {
    if (peek(reader, 0) != '\\' || peek(reader, 1) != '\n')
        return false;
    reader->at += 2;
    reader->line++;
    return true;
}

/* Reads up to the closing quote. False: there is none. */
static bool read_quoted(struct reader *reader, char quote) {
    reader->at++;
    while (peek(reader, 0) != quote) {
        if (reader->at == reader->end)
            return false;
        if (quote == '"' && skip_joint(reader))
            continue;
        if (quote == '"' && peek(reader, 0) == '\\' && peek(reader, 1) && strchr("$`\"\\", peek(reader, 1)))
            reader->at++;
        put(reader, *reader->at++);
    }
    reader->at++;
    return true;
}

static enum word_kind read_word(struct reader *reader, char **word) {
    *word = reader->words;
    for (char byte; (byte = peek(reader, 0)) != '\0' && !strchr(" \t\n", byte);) {
        if (skip_joint(reader))
            continue;
        if (strchr("|&;<>()`", byte))
            return fault(reader, "no shell runs the command: quote | & ; < > ( ) `");
        if (byte == '\'' || byte == '"') {
            if (!read_quoted(reader, byte))
                return fault(reader, "a quote is not closed");
            continue;
        }
        if (byte == '\\' && reader->end - reader->at > 1)
            reader->at++;
        put(reader, *reader->at++);
    }
    put(reader, '\0');
    return WORD;
}

/* The next word of the line, past blanks and a comment. */
static enum word_kind next_word(struct reader *reader, char **word) {
    for (;;) {
        while (peek(reader, 0) == ' ' || peek(reader, 0) == '\t')
            reader->at++;
        if (skip_joint(reader))
            continue;
        if (peek(reader, 0) == '#')
            while (reader->at < reader->end && *reader->at != '\n')
                reader->at++;
        return peek(reader, 0) == '\0' || peek(reader, 0) == '\n' ? LINE_END : read_word(reader, word);
    }
}

/* Reads the words after the account up to --. */
static enum word_kind read_options(struct reader *reader, struct config_entry *entry) {
    char *word;
    for (;;) {
        enum word_kind kind = next_word(reader, &word);
        if (kind != WORD)
            return kind == FAULT ? kind : fault(reader, "-- and a command are missing");
        if (strcmp(word, "--") == 0)
            return WORD;
        if (strcmp(word, "while-unlocked") == 0)
            entry->while_unlocked = true;
        else if (strcmp(word, "ask") == 0)
            entry->asks = true;
        else
            return fault(reader, "expected while-unlocked, ask or --");
    }
}

static enum word_kind read_command(struct reader *reader, struct config_entry *entry) {
    size_t count = 0;
    char *word;
    enum word_kind kind;
    while ((kind = next_word(reader, &word)) == WORD) {
        char **command = realloc(entry->command, (count + 2) * sizeof *command);
        if (command == NULL)
            return fault(reader, strerror(ENOMEM));
        entry->command = command;
        command[count++] = word;
        command[count] = NULL;
    }
    return kind == LINE_END && (count == 0 || entry->command[0][0] == '\0')
               ? fault(reader, "a command is missing")
               : kind;
}

/* Reads a line. LINE_END: it is empty. */
static enum word_kind read_entry(struct reader *reader, struct config_entry *entry) {
    enum word_kind kind = next_word(reader, &entry->service);
    if (kind != WORD)
        return kind;
    kind = next_word(reader, &entry->account);
    if (kind == FAULT)
        return kind;
    if (kind == LINE_END || strcmp(entry->service, "--") == 0 || strcmp(entry->account, "--") == 0)
        return fault(reader, "expected SERVICE ACCOUNT ('' for no account)");
    kind = read_options(reader, entry);
    if (kind == WORD)
        kind = read_command(reader, entry);
    return kind == FAULT ? FAULT : WORD;
}

static bool parse(struct reader *reader, struct config *config) {
    while (reader->at < reader->end) {
        struct config_entry *entries = realloc(config->entries, (config->count + 1) * sizeof *entries);
        if (entries == NULL)
            return fault(reader, strerror(ENOMEM)), false;
        config->entries = entries;
        struct config_entry *entry = &entries[config->count];
        memset(entry, 0, sizeof *entry);
        enum word_kind kind = read_entry(reader, entry);
        if (kind == WORD || entry->command != NULL)
            config->count++;
        if (kind == FAULT)
            return false;
        reader->at++; /* the newline */
        reader->line++;
    }
    return true;
}

/* Reads a whole file into a buffer of size_limit + 1 bytes. Returns its length, or -1. */
static long read_file(const char *path, char *text, char *message) {
    struct stat status;
    long length = 0;
    ssize_t count = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(message, 256, "%s", file < 0 ? strerror(errno) : "not a regular file");
        length = -1;
    } else if ((status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & 022) != 0) {
        snprintf(message, 256, "another user may write it: chmod go-w");
        length = -1;
    }
    while (length >= 0 && length <= size_limit &&
           (count = read(file, text + length, (size_t)(size_limit + 1 - length))) > 0)
        length += count;
    if (file >= 0)
        close(file);
    if (length >= 0 && (count < 0 || length > size_limit || memchr(text, '\0', (size_t)length))) {
        snprintf(message, 256, "not a text of at most %d bytes", size_limit);
        return -1;
    }
    return length;
}

bool config_read(const char *path, struct config *config, char message[256]) {
    char *text = malloc(size_limit + 1);
    memset(config, 0, sizeof *config);
    /* A word's NUL takes the place of the byte after the word, or follows the file's end. */
    config->words = malloc(size_limit + 2);
    snprintf(message, 256, "%s", strerror(ENOMEM));
    long length = text && config->words ? read_file(path, text, message) : -1;
    struct reader reader = {text, text + (length > 0 ? length : 0), 1, config->words, message};
    bool is_read = length >= 0 && parse(&reader, config);
    if (is_read && config->count == 0) {
        snprintf(message, 256, "no line");
        is_read = false;
    }
    free(text);
    if (!is_read)
        config_free(config);
    return is_read;
}

void config_free(struct config *config) {
    for (size_t index = 0; index < config->count; index++)
        free(config->entries[index].command);
    free(config->entries);
    free(config->words);
    memset(config, 0, sizeof *config);
}

#include "options.h"

#include <security/pam_ext.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define DEFAULT_TIMEOUT 5
#define MAXIMUM_TIMEOUT 30

/* The part of the word after the prefix; NULL if the word does not begin with the prefix. */
static const char *after(const char *prefix, const char *word) {
    size_t length = strlen(prefix);
    return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

/* Parses a number of seconds. Returns 0 if the text is not a number within the limits. */
static int seconds(const char *text) {
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number < 1 || number > MAXIMUM_TIMEOUT)
        return 0;
    return (int)number;
}

/* Sets the option that the word names. Returns 0 if the word is unknown or its value malformed, else 1. */
static int read_option(struct options *options, const char *word) {
    const char *value;
    if (strcmp(word, "debug") == 0)
        options->is_debugging = 1;
    else if (strcmp(word, "create") == 0)
        options->creates = 1;
    else if ((value = after("helper=", word)) != NULL && value[0] == '/')
        options->helper = value;
    else if ((value = after("only_if=", word)) != NULL && value[0] != '\0')
        options->only_if = value;
    else if ((value = after("timeout=", word)) != NULL && seconds(value) != 0)
        options->timeout_s = seconds(value);
    else
        return 0;
    return 1;
}

struct options read_options(pam_handle_t *pamh, int argc, const char **argv) {
    struct options options = {.timeout_s = DEFAULT_TIMEOUT};
    for (int index = 0; index < argc; index++)
        if (!read_option(&options, argv[index]))
            pam_syslog(pamh, LOG_ERR, "the option %s is not known or malformed", argv[index]);
    return options;
}

int applies_to(const struct options *options, const char *service) {
    if (options->only_if == NULL)
        return 1;
    size_t length = strlen(service);
    for (const char *name = options->only_if; name != NULL; name = strchr(name, ',')) {
        if (*name == ',')
            name++;
        if (strncmp(name, service, length) == 0 && (name[length] == ',' || name[length] == '\0'))
            return 1;
    }
    return 0;
}

/*
 * A module in memory for the tests, and its faults. What is wrong with init is chosen when it is compiled
 * (-DREFUSES and so on); what is wrong with a load, by the argument fault=WORD. With hang=PATH, a load and a
 * save first make the file PATH-waits, and wait until something can be read from PATH, a FIFO.
 */
#include <tokenkeep/module.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef INIT_NAME
#define tokenkeep_module_init_1 INIT_NAME
TOKENKEEP_EXPORT tokenkeep_status INIT_NAME(const tokenkeep_host *, uint32_t, tokenkeep_module *);
#endif

static const tokenkeep_host *host;
static char *volatile fault_address; /* NULL */

typedef struct stored {
    struct stored *next;
    char *name_space, *service, *account;
    tokenkeep_module_item item;
    tokenkeep_attribute attributes[TOKENKEEP_MAX_ATTRIBUTES];
} stored;

typedef struct handle {
    stored *first;
    const char *fault, *hang;
    void *changed_data;
    char words[2][256];
} handle;

static tokenkeep_status open_handle(const tokenkeep_module_options *options, void **result,
                                    tokenkeep_call *call) {
    handle *self = calloc(1, sizeof *self);
    for (size_t i = 0; i < options->argument_count && i < 2; i++) {
        snprintf(self->words[i], sizeof self->words[i], "%s", options->arguments[i]);
        if (strncmp(self->words[i], "fault=", 6) == 0)
            self->fault = self->words[i] + 6;
        if (strncmp(self->words[i], "hang=", 5) == 0)
            self->hang = self->words[i] + 5;
    }
    if (self->fault != NULL && strcmp(self->fault, "open") == 0) {
        host->set_error(call, "it does not open");
        free(self);
        return TOKENKEEP_INVALID;
    }
    if (self->fault != NULL && strcmp(self->fault, "no-handle") == 0) {
        free(self);
        return TOKENKEEP_NOT_FOUND;
    }
    self->changed_data = options->changed_data;
    *result = self;
    if (self->fault != NULL && strcmp(self->fault, "opens-with-item") == 0)
        host->answer(call, NULL);
    return TOKENKEEP_OK;
}

static void drop(stored *one) {
    free(one->name_space);
    free(one->service);
    free(one->account);
    free((char *)one->item.label);
    host->free((void *)one->item.secret);
    for (size_t i = 0; i < one->item.attribute_count; i++) {
        free((char *)one->attributes[i].name);
        free((char *)one->attributes[i].value);
    }
    free(one);
}

static void close_handle(void *data) {
    handle *self = data;
    if (self->fault != NULL && strcmp(self->fault, "opens-with-item") == 0)
        host->changed(self->changed_data);
    while (self->first != NULL) {
        stored *one = self->first;
        self->first = one->next;
        drop(one);
    }
    free(self);
}

static stored **find(handle *self, const char *name_space, const char *service, const char *account) {
    stored **at = &self->first;
    while (*at != NULL && (strcmp((*at)->name_space, name_space) != 0 ||
                           strcmp((*at)->service, service) != 0 || strcmp((*at)->account, account) != 0))
        at = &(*at)->next;
    return at;
}

static void wait_where_asked(const handle *self) {
    if (self->hang == NULL)
        return;
    char mark[300];
    snprintf(mark, sizeof mark, "%s-waits", self->hang);
    close(open(mark, O_WRONLY | O_CREAT, 0600));
    int descriptor = open(self->hang, O_RDONLY);
    char byte;
    while (descriptor >= 0 && read(descriptor, &byte, 1) < 0)
        continue;
    close(descriptor);
}

static tokenkeep_status misbehave(const char *fault, tokenkeep_call *call) {
    tokenkeep_module_item item = {sizeof item, NULL, NULL, NULL, NULL, "x", 1, 0, 0, 0, 0, 0, NULL, 0};
    char *longer = calloc(1, 5000);
    memset(longer, 'a', 4999);
    tokenkeep_attribute attribute = {"UPPER", "x"}, nameless = {NULL, NULL};
    tokenkeep_status status = TOKENKEEP_OK;
    int answers = 1;
    if (strcmp(fault, "status") == 0)
        status = 99;
    if (strcmp(fault, "conflict") == 0)
        status = TOKENKEEP_CONFLICT;
    if (strcmp(fault, "nothing") == 0)
        answers = 0;
    if (strcmp(fault, "twice") == 0)
        answers = 2;
    if (strcmp(fault, "null") == 0)
        host->answer(call, NULL), answers = 0;
    if (strcmp(fault, "small") == 0)
        item.struct_size = 1;
    if (strcmp(fault, "huge") == 0)
        item.struct_size = (size_t)-1;
    if (strcmp(fault, "label") == 0)
        item.label = longer;
    if (strcmp(fault, "utf8") == 0)
        item.label = "\xC3\x28";
    if (strcmp(fault, "control") == 0)
        item.label = "a\nb";
    if (strcmp(fault, "secret") == 0)
        item.secret = NULL;
    if (strcmp(fault, "length") == 0)
        item.secret_length = (size_t)-1;
    if (strcmp(fault, "level") == 0)
        item.accessibility = 77;
    if (strcmp(fault, "memory") == 0)
        item.accessibility = TOKENKEEP_MEMORY_ONLY;
    if (strcmp(fault, "flags") == 0)
        item.flags = 1u << 31;
    if (strcmp(fault, "time") == 0)
        item.expires_at = -1;
    if (strcmp(fault, "attributes") == 0)
        item.attribute_count = 5;
    if (strcmp(fault, "many") == 0)
        item.attributes = &attribute, item.attribute_count = 1u << 30;
    if (strcmp(fault, "upper") == 0)
        item.attributes = &attribute, item.attribute_count = 1;
    if (strcmp(fault, "nameless") == 0)
        item.attributes = &nameless, item.attribute_count = 1;
    if (strcmp(fault, "other") == 0)
        item.name_space = "", item.service = "another", item.account = "";
    if (strcmp(fault, "words") == 0) {
        host->set_error(call, "first\nsecond \x1b[31m\xFF end");
        status = TOKENKEEP_IO;
        answers = 0;
    }
    if (strcmp(fault, "crash") == 0)
        *(volatile char *)fault_address = 1;
    for (int i = 0; i < answers; i++)
        host->answer(call, &item);
    free(longer);
    return status;
}

static tokenkeep_status load(void *data, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call) {
    handle *self = data;
    wait_where_asked(self);
    if (self->fault != NULL && strncmp(self->fault, "quotes", 6) != 0)
        return misbehave(self->fault, call);
    stored *one = *find(self, name_space, service, account);
    if (one == NULL)
        return TOKENKEEP_NOT_FOUND;
    host->answer(call, &one->item);
    return TOKENKEEP_OK;
}

static tokenkeep_status save(void *data, const tokenkeep_module_item *item, tokenkeep_call *call) {
    handle *self = data;
    wait_where_asked(self);
    if (host->is_over(call))
        return TOKENKEEP_TIMED_OUT;
    if (self->fault != NULL) { /* quotes */
        char text[256];
        int length = snprintf(text, sizeof text, "cannot keep ");
        const char *form = strcmp(self->fault, "quotes") == 0 ? "%c" : "%02x";
        for (size_t i = 0; i < item->secret_length && length < 200; i++)
            length += sprintf(text + length, form, ((const unsigned char *)item->secret)[i]);
        host->set_error(call, text);
        return TOKENKEEP_IO;
    }
    stored *one = calloc(1, sizeof *one);
    one->name_space = strdup(item->name_space);
    one->service = strdup(item->service);
    one->account = strdup(item->account);
    one->item = *item;
    one->item.struct_size = sizeof one->item;
    one->item.name_space = one->item.service = one->item.account = NULL;
    one->item.label = strdup(item->label);
    void *secret = host->alloc(item->secret_length);
    if (item->secret_length > 0)
        memcpy(secret, item->secret, item->secret_length);
    one->item.secret = secret;
    for (size_t i = 0; i < item->attribute_count; i++) {
        one->attributes[i].name = strdup(item->attributes[i].name);
        one->attributes[i].value = strdup(item->attributes[i].value);
    }
    one->item.attributes = one->attributes;
    stored **at = find(self, item->name_space, item->service, item->account);
    if (*at != NULL) {
        one->next = (*at)->next;
        drop(*at);
    }
    *at = one;
#if !defined(SMALL)
    host->changed(self->changed_data);
#endif
    return TOKENKEEP_OK;
}

static tokenkeep_status clear(void *data, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call) {
    (void)call;
    stored **at = find(data, name_space, service, account), *one = *at;
    if (one == NULL)
        return TOKENKEEP_NOT_FOUND;
    *at = one->next;
    drop(one);
    return TOKENKEEP_OK;
}

static tokenkeep_status list(void *data, const char *name_space, const char *service, tokenkeep_call *call) {
    handle *self = data;
    for (stored *one = self->first; one != NULL; one = one->next) {
        if (strcmp(one->name_space, name_space) != 0)
            continue;
        if (service != NULL && strcmp(one->service, service) != 0)
            continue;
        tokenkeep_module_item item = one->item;
        item.name_space = one->name_space;
        item.service = one->service;
        item.account = one->account;
        item.secret = NULL;
        item.secret_length = 0;
        host->answer(call, &item);
    }
    return TOKENKEEP_OK;
}

tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *given, uint32_t host_minor,
                                         tokenkeep_module *module) {
    (void)host_minor;
    host = given;
    module->struct_size = sizeof *module;
    module->minor = TOKENKEEP_MODULE_MINOR;
#if defined(REFUSES)
    module->refusal = "it does not like this machine";
    return TOKENKEEP_UNAVAILABLE;
#elif defined(REFUSES_SILENTLY)
    return TOKENKEEP_UNAVAILABLE;
#elif defined(TOO_SMALL)
    module->struct_size = 3;
#elif defined(TOO_LARGE)
    module->struct_size = (size_t)1 << 40;
#elif defined(NEWER)
    module->struct_size = sizeof *module + 64;
    memset((char *)module + sizeof *module, 0xAA, 64);
    module->minor = 7;
#endif
    module->capabilities = TOKENKEEP_MODULE_KEEPS_METADATA | TOKENKEEP_MODULE_WATCHES;
    module->open = open_handle;
    module->close = close_handle;
#if !defined(NO_LOAD)
    module->load = load;
#endif
#if !defined(READS_ONLY)
    module->save = save;
#if !defined(NO_CLEAR)
    module->clear = clear;
#endif
    module->list = list;
#endif
    return TOKENKEEP_OK;
}

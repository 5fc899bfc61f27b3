/*
 * A module that keeps items in the kernel's persistent keyring of the user: for CI machines and containers
 * without a disk. What is kept survives the end of every process and login, not a reboot, and goes three days
 * (/proc/sys/kernel/keys/persistent_keyring_expiry) after it was last used. It is never written to a disk.
 *
 *     cc -shared -fPIC -O2 keyctl.c -o keyctl.so $(pkg-config --cflags tokenkeep)
 *
 *     # operation   control       module   arguments
 *     any           sufficient    keyctl   ring=ci
 *
 * ring= keeps the items of one purpose apart from others; without it there is one common ring.
 *
 * The kernel grants a user some 20 000 bytes for all keys, those that unlock disks and vaults among them:
 * this module takes 8192 at most and is UNAVAILABLE then. So it is where a seccomp filter (Docker's) blocks
 * keys.
 */
#include <tokenkeep/module.h>

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUDGET          8192  /* bytes of all our items, their names included */
#define MAX_PAYLOAD     32767 /* what the kernel takes for one key */
#define MAX_KEYS        1024
#define MAX_DESCRIPTION 1024
#define FORMAT          1

static const tokenkeep_host *host;

typedef struct handle {
    char prefix[96]; /* "tokenkeep\tRING\t": names have no control characters */
} handle;

static long keyctl(int operation, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

static int means_no_key(int error) {
    return error == ENOKEY || error == EKEYEXPIRED || error == EKEYREVOKED;
}

/* What an errno of the kernel's key service means. */
static tokenkeep_status failure(tokenkeep_call *call, const char *what, int error) {
    char text[160];
    snprintf(text, sizeof text, "the kernel's keyring %s: %s", what, strerror(error));
    host->set_error(call, text);
    if (error == EACCES)
        return TOKENKEEP_DENIED;
    int is_outage = error == EDQUOT || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
    return is_outage || means_no_key(error) ? TOKENKEEP_UNAVAILABLE : TOKENKEEP_IO;
}

/* The same where the key of an item was asked for: only there does a missing key mean a missing item. */
static tokenkeep_status key_failure(tokenkeep_call *call, const char *what, int error) {
    return means_no_key(error) ? TOKENKEEP_NOT_FOUND : failure(call, what, error);
}

/* The persistent keyring. It is linked into the keyring of this thread, which gives the right to use it here
 * and to no program that is started from here; and each use puts off its end. */
static long persistent_ring(void) {
    return keyctl(KEYCTL_GET_PERSISTENT, (unsigned long)-1, (unsigned long)KEY_SPEC_THREAD_KEYRING, 0, 0);
}

static tokenkeep_status open_handle(const tokenkeep_module_options *options, void **result,
                                    tokenkeep_call *call) {
    const char *ring = "";
    for (size_t i = 0; i < options->argument_count; i++) {
        const char *argument = options->arguments[i];
        if (strncmp(argument, "ring=", 5) != 0 || strlen(argument) > 5 + 64) {
            host->set_error(call,
                            "the module takes the argument ring=NAME, of at most 64 bytes, and no other");
            return TOKENKEEP_INVALID;
        }
        ring = argument + 5;
    }
    handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return TOKENKEEP_IO;
    snprintf(made->prefix, sizeof made->prefix, "tokenkeep\t%s\t", ring);
    *result = made;
    return TOKENKEEP_OK;
}

/* Always fits: the host holds names to their limits. */
static void describe(const handle *self, char *text, const char *name_space, const char *service,
                     const char *account) {
    snprintf(text, MAX_DESCRIPTION, "%s%s\t%s\t%s", self->prefix, name_space, service, account);
}

/* ---- Payloads: a head, then texts with their length before them and a NUL behind, then the secret. No other
 * machine ever reads them: numbers are as this one has them. ---- */

typedef struct head {
    uint32_t format, accessibility, flags, attribute_count;
    int64_t created_at, modified_at, expires_at;
    uint64_t secret_length;
} head;

typedef struct writer {
    unsigned char *bytes;
    size_t count;
    int is_full;
} writer;

static void put(writer *to, const void *bytes, size_t count) {
    if (to->is_full || count > MAX_PAYLOAD - to->count) {
        to->is_full = 1;
        return;
    }
    if (count > 0)
        memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void put_text(writer *to, const char *text) {
    uint32_t length = (uint32_t)strlen(text);
    put(to, &length, sizeof length);
    put(to, text, length + (size_t)1);
}

static void put_item(writer *to, const tokenkeep_module_item *item) {
    head first = {FORMAT,           item->accessibility, item->flags,      (uint32_t)item->attribute_count,
                  item->created_at, item->modified_at,   item->expires_at, item->secret_length};
    put(to, &first, sizeof first);
    put_text(to, item->label == NULL ? "" : item->label);
    for (size_t i = 0; i < item->attribute_count; i++) {
        put_text(to, item->attributes[i].name);
        put_text(to, item->attributes[i].value);
    }
    put(to, item->secret, item->secret_length);
}

typedef struct reader {
    const unsigned char *bytes;
    size_t left;
    int is_broken;
} reader;

static const void *take(reader *from, size_t count) {
    if (from->is_broken || count > from->left) {
        from->is_broken = 1;
        return NULL;
    }
    from->left -= count;
    from->bytes += count;
    return from->bytes - count;
}

static const char *take_text(reader *from) {
    uint32_t length = 0;
    const void *bytes = take(from, sizeof length);
    if (bytes != NULL)
        memcpy(&length, bytes, sizeof length);
    const char *text = take(from, length + (size_t)1);
    from->is_broken |= text == NULL || text[length] != 0;
    return from->is_broken ? "" : text;
}

/* Reads a payload in place; 0 where it is none. */
static int take_item(reader *from, tokenkeep_module_item *item, tokenkeep_attribute *attributes) {
    const void *bytes = take(from, sizeof(head));
    head first = {0};
    if (bytes != NULL)
        memcpy(&first, bytes, sizeof first);
    if (first.format != FORMAT || first.attribute_count > TOKENKEEP_MAX_ATTRIBUTES)
        return 0;
    const char *label = take_text(from);
    for (size_t i = 0; i < first.attribute_count; i++) {
        attributes[i].name = take_text(from);
        attributes[i].value = take_text(from);
    }
    tokenkeep_module_item read = {sizeof read,
                                  NULL,
                                  NULL,
                                  NULL,
                                  label,
                                  take(from, first.secret_length),
                                  first.secret_length,
                                  first.accessibility,
                                  first.flags,
                                  first.created_at,
                                  first.modified_at,
                                  first.expires_at,
                                  attributes,
                                  first.attribute_count};
    *item = read;
    return !from->is_broken && from->left == 0;
}

/* Reads a key and answers with its item. */
static tokenkeep_status answer(tokenkeep_call *call, long key, const char *name_space, const char *service,
                               const char *account, int with_secret) {
    unsigned char *payload = host->alloc(MAX_PAYLOAD);
    if (payload == NULL)
        return TOKENKEEP_IO;
    long length = keyctl(KEYCTL_READ, (unsigned long)key, (unsigned long)payload, MAX_PAYLOAD, 0);
    tokenkeep_status status = TOKENKEEP_OK;
    if (length < 0) {
        status = key_failure(call, "cannot be read", errno);
    } else {
        tokenkeep_module_item item = {0};
        tokenkeep_attribute attributes[TOKENKEEP_MAX_ATTRIBUTES];
        reader from = {payload, (size_t)length, length > MAX_PAYLOAD};
        if (take_item(&from, &item, attributes)) {
            item.name_space = name_space;
            item.service = service;
            item.account = account;
            if (!with_secret)
                item.secret = NULL, item.secret_length = 0;
            host->answer(call, &item);
        } else {
            host->set_error(call, "a key of the kernel's keyring is none of this module's");
            status = TOKENKEEP_CORRUPT;
        }
    }
    host->free(payload);
    return status;
}

static long find(const handle *self, long ring, const char *name_space, const char *service,
                 const char *account) {
    char description[MAX_DESCRIPTION];
    describe(self, description, name_space, service, account);
    return keyctl(KEYCTL_SEARCH, (unsigned long)ring, (unsigned long)"user", (unsigned long)description, 0);
}

static tokenkeep_status load(void *data, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call) {
    long ring = persistent_ring();
    if (ring < 0)
        return failure(call, "cannot be had", errno);
    long key = find(data, ring, name_space, service, account);
    if (key < 0)
        return key_failure(call, "cannot be searched", errno);
    return answer(call, key, name_space, service, account, 1);
}

/* Calls visit for each of our keys, with its description behind the prefix, until it returns another than OK.
 */
typedef tokenkeep_status (*visitor)(void *data, long key, char *name, tokenkeep_call *call);

static tokenkeep_status for_each(const char *prefix, long ring, tokenkeep_call *call, visitor visit,
                                 void *data) {
    int32_t keys[MAX_KEYS];
    long size = keyctl(KEYCTL_READ, (unsigned long)ring, (unsigned long)keys, sizeof keys, 0);
    if (size < 0)
        return failure(call, "cannot be read", errno);
    if (size > (long)sizeof keys)
        size = (long)sizeof keys;
    for (long i = 0; i < size / (long)sizeof keys[0]; i++) {
        char text[MAX_DESCRIPTION + 128]; /* "user;uid;gid;permissions;description" */
        long length = keyctl(KEYCTL_DESCRIBE, (unsigned long)keys[i], (unsigned long)text, sizeof text, 0);
        if (length < 0 || length > (long)sizeof text || strncmp(text, "user;", 5) != 0)
            continue;
        char *description = text;
        for (int skipped = 0; skipped < 4 && description != NULL; skipped++) {
            description = strchr(description, ';');
            if (description != NULL)
                description++;
        }
        if (description == NULL || strncmp(description, prefix, strlen(prefix)) != 0)
            continue;
        tokenkeep_status status = visit(data, keys[i], description + strlen(prefix), call);
        if (status != TOKENKEEP_OK)
            return status;
    }
    return TOKENKEEP_OK;
}

typedef struct usage {
    const char *except; /* "RING\tNAMESPACE\t…" of the item that is replaced */
    size_t bytes;
} usage;

static tokenkeep_status add_size(void *data, long key, char *name, tokenkeep_call *call) {
    usage *sum = data;
    (void)call;
    if (strcmp(name, sum->except) == 0)
        return TOKENKEEP_OK;
    long length = keyctl(KEYCTL_READ, (unsigned long)key, 0, 0, 0);
    sum->bytes += strlen("tokenkeep\t") + strlen(name) + (length > 0 ? (size_t)length : 0);
    return TOKENKEEP_OK;
}

/* Adds or replaces the key, which the kernel does at once: there is never half of one. */
static tokenkeep_status keep(long ring, const char *description, const writer *payload,
                             tokenkeep_call *call) {
    usage others = {description + strlen("tokenkeep\t"), 0};
    tokenkeep_status status = for_each("tokenkeep\t", ring, call, add_size, &others);
    if (status != TOKENKEEP_OK)
        return status;
    if (payload->is_full || others.bytes + strlen(description) + payload->count > BUDGET) {
        host->set_error(call, "the module keeps at most 8192 bytes in the kernel's keyring");
        return TOKENKEEP_UNAVAILABLE;
    }
    if (host->is_over(call))
        return TOKENKEEP_TIMED_OUT;
    if (syscall(SYS_add_key, "user", description, payload->bytes, payload->count, ring) < 0)
        return failure(call, "takes no key", errno);
    return TOKENKEEP_OK;
}

static tokenkeep_status save(void *data, const tokenkeep_module_item *item, tokenkeep_call *call) {
    long ring = persistent_ring();
    if (ring < 0)
        return failure(call, "cannot be had", errno);
    char description[MAX_DESCRIPTION];
    describe(data, description, item->name_space, item->service, item->account);
    writer payload = {host->alloc(MAX_PAYLOAD), 0, 0};
    if (payload.bytes == NULL)
        return TOKENKEEP_IO;
    put_item(&payload, item);
    tokenkeep_status status = keep(ring, description, &payload, call);
    host->free(payload.bytes);
    return status;
}

static tokenkeep_status clear(void *data, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call) {
    long ring = persistent_ring();
    if (ring < 0)
        return failure(call, "cannot be had", errno);
    long key = find(data, ring, name_space, service, account);
    if (key < 0)
        return key_failure(call, "cannot be searched", errno);
    if (host->is_over(call))
        return TOKENKEEP_TIMED_OUT;
    /* Revoked first: whoever has it open gets no more of it. */
    keyctl(KEYCTL_REVOKE, (unsigned long)key, 0, 0, 0);
    if (keyctl(KEYCTL_UNLINK, (unsigned long)key, (unsigned long)ring, 0, 0) < 0)
        return key_failure(call, "keeps a key", errno);
    return TOKENKEEP_OK;
}

static tokenkeep_status list_one(void *data, long key, char *name, tokenkeep_call *call) {
    const char *const *filter = data; /* the namespace, and the service or NULL */
    char *service = strchr(name, '\t');
    if (service == NULL)
        return TOKENKEEP_OK;
    *service++ = 0;
    char *account = strchr(service, '\t');
    if (account == NULL)
        return TOKENKEEP_OK;
    *account++ = 0;
    if (strcmp(name, filter[0]) != 0)
        return TOKENKEEP_OK;
    if (filter[1] != NULL && strcmp(service, filter[1]) != 0)
        return TOKENKEEP_OK;
    tokenkeep_status status = answer(call, key, name, service, account, 0);
    return status == TOKENKEEP_NOT_FOUND ? TOKENKEEP_OK : status; /* it went meanwhile */
}

static tokenkeep_status list(void *data, const char *name_space, const char *service, tokenkeep_call *call) {
    const handle *self = data;
    long ring = persistent_ring();
    if (ring < 0)
        return failure(call, "cannot be had", errno);
    const char *filter[2] = {name_space, service};
    return for_each(self->prefix, ring, call, list_one, filter);
}

static tokenkeep_status report(void *data, tokenkeep_call *call) {
    (void)data;
    long ring = persistent_ring();
    if (ring < 0)
        return failure(call, "cannot be had", errno);
    usage all = {"", 0};
    tokenkeep_status status = for_each("tokenkeep\t", ring, call, add_size, &all);
    if (status != TOKENKEEP_OK)
        return status;
    char text[80];
    host->note(call, "the kernel's persistent keyring of this user");
    snprintf(text, sizeof text, "%zu of %d bytes are used", all.bytes, BUDGET);
    host->note(call, text);
    return TOKENKEEP_OK;
}

/* [module] */
tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *given, uint32_t host_minor,
                                         tokenkeep_module *module) {
    (void)host_minor; /* nothing newer than the first minor version is used */
    host = given;
    module->struct_size = sizeof *module;
    module->minor = TOKENKEEP_MODULE_MINOR;
    module->capabilities = TOKENKEEP_MODULE_KEEPS_METADATA | TOKENKEEP_MODULE_ENFORCES_OTHER_USER |
                           TOKENKEEP_MODULE_ENFORCES_DISK_THEFT | TOKENKEEP_MODULE_ENFORCES_OTHER_MACHINE;
    module->open = open_handle;
    module->close = free;
    module->load = load;
    module->save = save;
    module->clear = clear;
    module->list = list;
    module->report = report;
    return TOKENKEEP_OK;
}
/* [/module] */

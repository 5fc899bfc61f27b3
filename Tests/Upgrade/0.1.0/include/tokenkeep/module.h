/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface for authors of modules. A module is a shared object that keeps items for a stack.
 *
 * A module exports one function, tokenkeep_module_init_1, which fills a table of functions. The host then
 * calls these functions as the stack's lines demand. docs/modules.md describes how to build, check and
 * install a module, and how to write a module as a program in any language. A module links nothing of
 * TokenKeep: the host's table has everything that a module needs.
 *
 * VERSIONS. The name of the init function has the major version; the host looks for no other name. Within a
 * major version both tables only grow at their ends. Each side writes the size of its table into struct_size
 * and reads no field beyond the other side's size. A field beyond the size, or a NULL function, is not
 * offered.
 *
 * MEMORY. No memory changes its owner. The strings and structures passed to a function belong to the host and
 * are valid until the function returns: copy data that must live longer. The host copies the arguments of
 * answer, set_error and note before these calls return. alloc returns memory for secrets; free wipes it.
 *
 * THREADS. The host calls all functions of one handle one after the other, on one thread of the handle. On
 * this thread every signal is blocked except fault signals. Different handles are used at the same time. The
 * host calls the init function once in a process. Constructors run under the lock of the dynamic loader and
 * must not wait. The process belongs to another program: do not call setlocale, chdir, setuid or signal, and
 * do not change the environment.
 *
 * DEADLINES. The caller waits no longer than the call's deadline. A function that misses the deadline goes on
 * alone and its answer is dropped; until the function returns, every new call fails as UNAVAILABLE. A call
 * that waits for its turn until its own deadline ends as TIMED_OUT and never begins. Call host->is_over
 * before every step that others can see: a call that is over must send nothing. remaining_ms limits the
 * length of a wait.
 *
 * FORK. A child of fork() opens its own handles. A handle of the parent is never used in the child.
 *
 * ANSWERS of a module are not trusted. Texts must keep the limits of types.h and be UTF-8 without control
 * characters. An answer that breaks a rule is CORRUPT, and no part of the answer reaches the program. A
 * module never puts a secret, or a part or hash of a secret, into a text.
 *
 * FAULTS. A shared object lives in the program: if the module crashes, the program ends. To avoid this, write
 * the module as a separate program (an exec module).
 */
#ifndef TOKENKEEP_MODULE_H
#define TOKENKEEP_MODULE_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define TOKENKEEP_MODULE_MAJOR 1
#define TOKENKEEP_MODULE_MINOR 0

/* The least number of bytes behind the tokenkeep_module pointer of the host. A module can write its whole
 * table, even if its table is newer than the host's. */
#define TOKENKEEP_MODULE_ROOM 4096

/* Capabilities. The first five name the threats against which the module itself enforces protection. This
 * version of TokenKeep shows these five capabilities, but does not rely on them yet. */
#define TOKENKEEP_MODULE_ENFORCES_OTHER_USER    1  /* other users of the machine cannot read items */
#define TOKENKEEP_MODULE_ENFORCES_DISK_THEFT    2  /* a thief of the disk cannot read items */
#define TOKENKEEP_MODULE_ENFORCES_OTHER_MACHINE 4  /* a copy on another machine cannot be read */
#define TOKENKEEP_MODULE_ENFORCES_SCREEN_LOCK   8  /* items cannot be read while the screen is locked */
#define TOKENKEEP_MODULE_ENFORCES_PRESENCE      16 /* the user is asked at each use */
/* Label, attributes, level, flags and times are loaded as they were saved. Without this capability only the
 * secret is kept, and the host never passes an item with a level or flags to save. */
#define TOKENKEEP_MODULE_KEEPS_METADATA 32
/* The module calls host->changed if another program changed the module's items. */
#define TOKENKEEP_MODULE_WATCHES 64

/* One call. Valid until the called function returns. */
typedef struct tokenkeep_call tokenkeep_call;

/* An item, passed by the host or by the module. */
typedef struct tokenkeep_module_item {
    size_t struct_size;     /* sizeof(tokenkeep_module_item) of the side that fills it */
    const char *name_space; /* "": the common namespace. A load's answer may leave all three names NULL */
    const char *service;
    const char *account;
    const char *label;  /* NULL: unknown */
    const void *secret; /* NULL with length 0: empty. Ignored in a list: never pass a secret there */
    size_t secret_length;
    uint32_t accessibility;                /* a level of types.h; 0: unknown */
    uint32_t flags;                        /* save flags of types.h */
    int64_t created_at;                    /* Unix seconds; 0: unknown */
    int64_t modified_at;                   /* 0: unknown; a newer value of another program may then lose */
    int64_t expires_at;                    /* 0: never */
    const tokenkeep_attribute *attributes; /* names in ascending order, none twice */
    size_t attribute_count;
} tokenkeep_module_item;

/* The options of a handle. */
typedef struct tokenkeep_module_options {
    size_t struct_size;           /* of the host's structure */
    const char *name;             /* the module's name in the stack */
    const char *const *arguments; /* the arguments of the stack's line, without timeout= */
    size_t argument_count;
    void *changed_data; /* pass this pointer to host->changed */
} tokenkeep_module_options;

/* The functions of the host. The table lives as long as the process; any thread may call its functions. */
typedef struct tokenkeep_host {
    size_t struct_size; /* of the host's table */
    /* Returns zeroed memory between guard pages, locked if the kernel allows; NULL if no memory is left. */
    void *(*alloc)(size_t size);
    /* Wipes and frees memory of alloc, and of alloc alone. NULL is allowed. */
    void (*free)(void *memory);
    /* Milliseconds until the call's deadline; 0 after the deadline. */
    uint32_t (*remaining_ms)(const tokenkeep_call *call);
    /* Not 0 if the caller no longer waits: send nothing and return. */
    int32_t (*is_over)(const tokenkeep_call *call);
    /* Not 0 if the module may prompt the user. */
    int32_t (*may_prompt)(const tokenkeep_call *call);
    /* Sets the reason of a failure: one line in lower case, without the item's name and without a final
     * period. Only `tokenkeep module check` shows the reason: an error of a store names only the module and
     * the status. */
    void (*set_error)(tokenkeep_call *call, const char *text);
    /* Passes an item: once for a load, once for each item of a list (without the secrets). */
    void (*answer)(tokenkeep_call *call, const tokenkeep_module_item *item);
    /* Adds a line for people to a report; the first line names the location of the items. */
    void (*note)(tokenkeep_call *call, const char *text);
    /* Notifies the host that another program may have changed items. Any thread may call the function until
     * close returns, or until a failing open returns. data is changed_data. */
    void (*changed)(void *data);
    /* Returns an extension by its name, or NULL. This host has no extensions. */
    const void *(*extension)(const char *name);
} tokenkeep_host;

/*
 * The functions of a module. The host passes a zeroed table whose struct_size is the size of the host's
 * table. init fills in the module's functions and writes the size of the module's table.
 *
 * Every function returns one of these statuses: OK, LOCKED, UNAVAILABLE, TIMED_OUT, CANCELLED, DENIED,
 * POLICY, CORRUPT, UNSUPPORTED, IO, BUSY. load and clear may also return NOT_FOUND. open may also return
 * INVALID, if the module refuses its arguments. Any other value counts as CORRUPT.
 */
typedef struct tokenkeep_module {
    size_t struct_size;    /* sizeof(tokenkeep_module) of the module */
    uint32_t minor;        /* TOKENKEEP_MODULE_MINOR of the module */
    uint32_t capabilities; /* TOKENKEEP_MODULE_... */
    /* The reason if init does not return OK. The text must stay valid. */
    const char *refusal;

    /* Required. Makes a handle, which may be NULL. Must be brief: connect to other processes in the first
     * call. */
    tokenkeep_status (*open)(const tokenkeep_module_options *options, void **handle, tokenkeep_call *call);
    /* Closes a handle. The process may also end without calling close. */
    void (*close)(void *handle);
    /* Required. Answers with the item, secret included, or returns NOT_FOUND if the item is certainly
     * missing. If the module cannot read its items, load returns LOCKED or UNAVAILABLE. */
    tokenkeep_status (*load)(void *handle, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call);
    /* NULL: the module is read-only. Keeps the whole item, replacing an item of the same three names, and
     * returns OK when the item is as durable as the module can make it. A failed save leaves the old item.
     * The module never truncates an item. */
    tokenkeep_status (*save)(void *handle, const tokenkeep_module_item *item, tokenkeep_call *call);
    /* NULL: the module is read-only. Removes the item; NOT_FOUND if the item is missing. */
    tokenkeep_status (*clear)(void *handle, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call);
    /* NULL: the module cannot list items. Answers with each item of the service, or of all services for NULL,
     * in the namespace. */
    tokenkeep_status (*list)(void *handle, const char *name_space, const char *service, tokenkeep_call *call);
    /* NULL: the module never needs the user. Unlocks the module if host->may_prompt allows prompts. */
    tokenkeep_status (*prepare)(void *handle, tokenkeep_call *call);
    /* NULL: no report. Describes the module's state by note. A status other than OK is the reason why the
     * module cannot be used. Changes nothing and prompts nobody. */
    tokenkeep_status (*report)(void *handle, tokenkeep_call *call);
    /* NULL: the module has no extensions. Returns an extension by its name, or NULL. */
    const void *(*extension)(const char *name);
} tokenkeep_module;

/* The function that a module exports. host_minor is the host's TOKENKEEP_MODULE_MINOR. The module may keep
 * the pointer to the host. Returns TOKENKEEP_OK, or another status with the table's refusal set. */
TOKENKEEP_EXPORT tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *host, uint32_t host_minor,
                                                          tokenkeep_module *module);

#ifdef __cplusplus
}
#endif

#endif

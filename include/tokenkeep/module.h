/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TokenKeep for authors of modules: a shared object that keeps items, as a stack's lines ask for them.
 *
 * A module exports one function, tokenkeep_module_init_1, which fills a table. The table's functions are then
 * called as the stack says. docs/modules.md tells how to build, check and install a module, and how to write
 * one as a program in any language. A module links nothing of TokenKeep: what it needs is in its host's
 * table.
 *
 * VERSIONS. The major version is in the name of the function; the host looks for no other. Within it both
 * tables only grow, at their ends. Each side writes its table's size into struct_size, and reads no field
 * beyond the other's; what lies there is not offered. A slot that is NULL is not offered either.
 *
 * MEMORY. No memory changes hands. What a function is given, strings and structures, belongs to the host and
 * ends when the function returns: copy what is kept. What a function tells (answer, set_error, note), the
 * host copies before that call returns. alloc gives memory for secrets, which free wipes.
 *
 * THREADS. All functions of one handle are called one after the other, on one thread that the host started
 * for it and on which every signal is blocked but those of faults. Different handles are used at the same
 * time. The init function is called once in a process. Constructors must not wait for anything: they run
 * under the lock of the dynamic loader. Do not call setlocale, chdir, setuid or signal, nor change the
 * environment: the process is somebody else's.
 *
 * DEADLINES. The caller waits until the call's deadline and no longer. A function that is not back by then
 * goes on alone; what it answers is dropped, and until it returns every new call fails as UNAVAILABLE. Calls
 * that waited for their turn end with their own deadline, as TIMED_OUT, and are never begun. Before anything
 * that others see, ask host->is_over: what was given up must not be sent. remaining_ms tells how long a wait
 * may be.
 *
 * FORK. A child of fork() opens handles of its own. A handle of the parent is never used there.
 *
 * ANSWERS are checked like a stranger's: texts by the limits of types.h, UTF-8, no control characters. What
 * does not hold them is CORRUPT, and nothing of it reaches the program. A module never puts a secret, or a
 * part or hash of one, into a text.
 *
 * FAULTS. A shared object lives in the program: where it crashes, the program ends. What must not do that is
 * a program of its own (an exec module).
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

/* The host has room for at least this many bytes where it passes a tokenkeep_module: a table that is newer
 * than the host's is written whole. */
#define TOKENKEEP_MODULE_ROOM 4096

/* Capabilities. The first five say what the module enforces by itself against whom; this version of TokenKeep
 * shows them and does not rely on them yet. */
#define TOKENKEEP_MODULE_ENFORCES_OTHER_USER    1  /* other users of the machine cannot read items */
#define TOKENKEEP_MODULE_ENFORCES_DISK_THEFT    2  /* nor can who has the disk */
#define TOKENKEEP_MODULE_ENFORCES_OTHER_MACHINE 4  /* nor can a copy on another machine be read */
#define TOKENKEEP_MODULE_ENFORCES_SCREEN_LOCK   8  /* items cannot be read while the screen is locked */
#define TOKENKEEP_MODULE_ENFORCES_PRESENCE      16 /* the user is asked at each use */
/* Label, attributes, level, flags and times come back as they were saved. Without it only the secret does,
 * and an item with a level or flags is never given to save. */
#define TOKENKEEP_MODULE_KEEPS_METADATA 32
/* The module calls host->changed when somebody else changed its items. */
#define TOKENKEEP_MODULE_WATCHES 64

/* One call. It ends when the function that it was passed to returns. */
typedef struct tokenkeep_call tokenkeep_call;

/* An item, in both directions. */
typedef struct tokenkeep_module_item {
    size_t struct_size;     /* sizeof(tokenkeep_module_item) of who fills it */
    const char *name_space; /* "" is the common one. In the answer to a load the three names may be NULL */
    const char *service;
    const char *account;
    const char *label;  /* NULL: unknown */
    const void *secret; /* NULL with length 0: empty. Ignored in a list: never give one there */
    size_t secret_length;
    uint32_t accessibility; /* a level of types.h; 0: unknown */
    uint32_t flags;         /* of the save flags */
    int64_t created_at;     /* Unix seconds; 0: unknown */
    int64_t modified_at;    /* 0: unknown. Without it a newer value of another program's may lose */
    int64_t expires_at;     /* 0: never */
    const tokenkeep_attribute *attributes; /* names in ascending order, none twice */
    size_t attribute_count;
} tokenkeep_module_item;

/* What a handle is opened for. */
typedef struct tokenkeep_module_options {
    size_t struct_size;           /* of the host's structure */
    const char *name;             /* the module's name in the stack */
    const char *const *arguments; /* of the stack's line, but for timeout= */
    size_t argument_count;
    void *changed_data; /* for host->changed */
} tokenkeep_module_options;

/* What the host offers. It lives as long as the process; any thread may call its functions. */
typedef struct tokenkeep_host {
    size_t struct_size; /* of the host's table */
    /* Zeroed memory between guard pages, locked where the kernel allows; NULL where there is none. */
    void *(*alloc)(size_t size);
    /* Wipes and takes back what alloc gave, and nothing else. NULL is allowed. */
    void (*free)(void *memory);
    /* Milliseconds until the call's deadline; 0 once it has passed. */
    uint32_t (*remaining_ms)(const tokenkeep_call *call);
    /* Not 0 once the caller has gone: return, and send nothing. */
    int32_t (*is_over)(const tokenkeep_call *call);
    /* Not 0 where the user may be asked for something. */
    int32_t (*may_prompt)(const tokenkeep_call *call);
    /* Says why the call fails: one line in lower case, without the item's name and without a final period.
     * Only `tokenkeep module check` shows it: an error of a store names the module and its status alone. */
    void (*set_error)(tokenkeep_call *call, const char *text);
    /* Gives an item: once for a load, once for each item of a list, without the secrets. */
    void (*answer)(tokenkeep_call *call, const tokenkeep_module_item *item);
    /* Says something to a person who asks how the module is; the first line is where the items are. */
    void (*note)(tokenkeep_call *call, const char *text);
    /* Somebody else may have changed items. From any thread, until close returns, or open where it fails;
     * data is changed_data. */
    void (*changed)(void *data);
    /* An extension by its name, or NULL. This host has none. */
    const void *(*extension)(const char *name);
} tokenkeep_host;

/*
 * What a module offers. init finds it zeroed but for struct_size, the size of the host's table; it fills what
 * it has and writes its own size. Every function returns a tokenkeep_status of these: OK, NOT_FOUND, LOCKED,
 * UNAVAILABLE, TIMED_OUT, CANCELLED, DENIED, POLICY, CORRUPT, UNSUPPORTED, IO, BUSY; open also INVALID, where
 * it is not to be used with its arguments. NOT_FOUND is load's and clear's alone. Anything else is taken for
 * CORRUPT.
 */
typedef struct tokenkeep_module {
    size_t struct_size;    /* sizeof(tokenkeep_module) of the module */
    uint32_t minor;        /* TOKENKEEP_MODULE_MINOR of the module */
    uint32_t capabilities; /* TOKENKEEP_MODULE_... */
    /* Why init refuses, where it does not return OK: a text that stays. */
    const char *refusal;

    /* Required. Makes a handle, which may be NULL. Brief: what needs others waits for the first call. */
    tokenkeep_status (*open)(const tokenkeep_module_options *options, void **handle, tokenkeep_call *call);
    /* Ends a handle that was opened. The process may also end without it. */
    void (*close)(void *handle);
    /* Required. Answers with the item, secret included, or returns NOT_FOUND. NOT_FOUND is said only where it
     * is known: a place that cannot be read is LOCKED or UNAVAILABLE. */
    tokenkeep_status (*load)(void *handle, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call);
    /* NULL: the module is for reading. Keeps the whole item, replacing one of the same three names, and
     * returns OK when it is as durable as it gets here; or leaves what was there. Nothing is ever truncated.
     */
    tokenkeep_status (*save)(void *handle, const tokenkeep_module_item *item, tokenkeep_call *call);
    /* NULL: the module is for reading. NOT_FOUND where there is no such item. */
    tokenkeep_status (*clear)(void *handle, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call);
    /* NULL: items cannot be listed. Answers with each item of the namespace; service NULL: of all services.
     */
    tokenkeep_status (*list)(void *handle, const char *name_space, const char *service, tokenkeep_call *call);
    /* NULL: nothing needs the user. Unlocks the place, where host->may_prompt says so. */
    tokenkeep_status (*prepare)(void *handle, tokenkeep_call *call);
    /* NULL: nothing to say. How the module is, by note; a status that is not OK says why it cannot be used.
     * Changes nothing and asks nobody. */
    tokenkeep_status (*report)(void *handle, tokenkeep_call *call);
    /* NULL: there are none. An extension by its name, or NULL. */
    const void *(*extension)(const char *name);
} tokenkeep_module;

/* What a module exports. host_minor is the host's TOKENKEEP_MODULE_MINOR; the host lives on, a pointer to it
 * may be kept. Returns TOKENKEEP_OK, or another status with the table's refusal set. */
TOKENKEEP_EXPORT tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *host, uint32_t host_minor,
                                                          tokenkeep_module *module);

#ifdef __cplusplus
}
#endif

#endif

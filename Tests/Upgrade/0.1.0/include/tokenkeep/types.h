/* SPDX-License-Identifier: Apache-2.0 */
/* Types and numbers that every part of TokenKeep shares. Numbers are never reused. */
#ifndef TOKENKEEP_TYPES_H
#define TOKENKEEP_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define TOKENKEEP_CHECK_RESULT __attribute__((warn_unused_result))
#define TOKENKEEP_EXPORT       __attribute__((visibility("default")))
#else
#define TOKENKEEP_CHECK_RESULT
#define TOKENKEEP_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call: one of the numbers below. */
typedef int32_t tokenkeep_status;

/* Done. */
#define TOKENKEEP_OK 0
/* No such item; every module that could hold the item answered. */
#define TOKENKEEP_NOT_FOUND 1
/* The item's module or class key is locked, and no prompt was allowed. */
#define TOKENKEEP_LOCKED 2
/* A module that may hold the item cannot be reached. */
#define TOKENKEEP_UNAVAILABLE 3
/* The deadline passed. */
#define TOKENKEEP_TIMED_OUT 4
/* The user dismissed the prompt, or the caller cancelled. */
#define TOKENKEEP_CANCELLED 5
/* Wrong password, or the permissions do not allow it. */
#define TOKENKEEP_DENIED 6
/* The requested level is refused or cannot be enforced. */
#define TOKENKEEP_POLICY 7
/* The token of a session has expired and cannot be renewed. (Loading an expired item is OK.) */
#define TOKENKEEP_EXPIRED 8
/* The item changed since its version was read. */
#define TOKENKEEP_CONFLICT 9
/* The item exists and TOKENKEEP_IF_ABSENT was given. */
#define TOKENKEEP_DUPLICATE 10
/* Stored data fails authentication or parsing. Unreadable data is never deleted. */
#define TOKENKEEP_CORRUPT 11
/* An argument is outside its limits; the message names it. */
#define TOKENKEEP_INVALID 12
/* This module or build does not have the requested feature. */
#define TOKENKEEP_UNSUPPORTED 13
/* The operating system refused; the message holds the system's error text. */
#define TOKENKEEP_IO 14
/* Another process held the item until the deadline. */
#define TOKENKEEP_BUSY 15
/* The handle was made before fork(). */
#define TOKENKEEP_FORKED 16
/* A fault of TokenKeep itself. */
#define TOKENKEEP_INTERNAL 17
/* The session is over: the user must sign in again. */
#define TOKENKEEP_NEEDS_LOGIN 18

/* Limits, in bytes except for counts. A value outside its limit is TOKENKEEP_INVALID, never truncated. */
#define TOKENKEEP_MAX_SERVICE         255 /* at least 1 */
#define TOKENKEEP_MAX_ACCOUNT         255
#define TOKENKEEP_MAX_NAMESPACE       64
#define TOKENKEEP_MAX_LABEL           1024
#define TOKENKEEP_MAX_ATTRIBUTES      32 /* attributes of one item */
#define TOKENKEEP_MAX_ATTRIBUTE_NAME  64 /* at least 1, of a-z 0-9 . _ - */
#define TOKENKEEP_MAX_ATTRIBUTE_VALUE 1024
#define TOKENKEEP_MAX_SECRET          1048576

/* Levels: when an item may be read. 0 keeps the level of an existing item and gives a new item
 * TOKENKEEP_AFTER_FIRST_UNLOCK: saving with defaults never lowers a level. */
#define TOKENKEEP_WHEN_UNLOCKED                       1
#define TOKENKEEP_AFTER_FIRST_UNLOCK                  2
#define TOKENKEEP_WHEN_UNLOCKED_THIS_DEVICE_ONLY      3
#define TOKENKEEP_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY 4
#define TOKENKEEP_WHEN_PASSCODE_SET_THIS_DEVICE_ONLY  5
/* In the memory of this store alone, until the store is closed or the process ends: for one-time codes. */
#define TOKENKEEP_MEMORY_ONLY 6

/* Flags of tokenkeep_save_options. */
/* Fail with TOKENKEEP_POLICY unless keys enforce the level on every axis that the level needs. */
#define TOKENKEEP_REQUIRE_ENFORCED 1
/* Each use asks the user again. */
#define TOKENKEEP_USER_PRESENCE 2
/* The item may be copied to the user's other machines. TOKENKEEP_INVALID with a this-device-only level. */
#define TOKENKEEP_SYNCHRONIZABLE 4
/* Save only a new item; TOKENKEEP_DUPLICATE if the item exists. The flag is not kept with the item. */
#define TOKENKEEP_IF_ABSENT 8
/* If the place of the item is locked, keep the value in the vault as a pending write, under a key that the
 * vault's password protects. TOKENKEEP_LOCKED without such an open key. The flag is not kept with the item.
 */
#define TOKENKEEP_KEEP_WHEN_LOCKED 16

/* Flags of tokenkeep_open_options. */
/* Prompts are allowed; without this flag nothing ever prompts. */
#define TOKENKEEP_INTERACTIVE 1

/* Axes of protection: the threats that an item is protected against. */
#define TOKENKEEP_AXIS_OTHER_USER 1 /* another user of the machine */
#define TOKENKEEP_AXIS_DISK_THEFT 2 /* a thief of the disk or a backup, without the password */
#define TOKENKEEP_AXIS_OTHER_MACHINE                                                                         \
    3                                /* a copy of the home on another machine, even with the password        \
                                      */
#define TOKENKEEP_AXIS_SCREEN_LOCK 4 /* the user's own programs while the screen is locked */
#define TOKENKEEP_AXIS_PRESENCE    5 /* a use without asking the user */

/* Strengths of protection. NONE: no protection. ADVISORY: a program that goes around TokenKeep is not
 * stopped. ENFORCED: the kernel, or a key that the attacker lacks, protects the item. */
#define TOKENKEEP_PROTECTION_NONE     0
#define TOKENKEEP_PROTECTION_ADVISORY 1
#define TOKENKEEP_PROTECTION_ENFORCED 2

/* Kinds of prompts. */
#define TOKENKEEP_PROMPT_PASSWORD     1
#define TOKENKEEP_PROMPT_NEW_PASSWORD 2
#define TOKENKEEP_PROMPT_RECOVERY     3

typedef struct tokenkeep_store tokenkeep_store;
typedef struct tokenkeep_item tokenkeep_item;
typedef struct tokenkeep_items tokenkeep_items;
typedef struct tokenkeep_error tokenkeep_error;
typedef struct tokenkeep_watch tokenkeep_watch;
typedef struct tokenkeep_event tokenkeep_event;
typedef struct tokenkeep_protection tokenkeep_protection;
typedef struct tokenkeep_session tokenkeep_session;
typedef struct tokenkeep_token tokenkeep_token;
typedef struct tokenkeep_session_info tokenkeep_session_info;
typedef struct tokenkeep_session_infos tokenkeep_session_infos;
typedef struct tokenkeep_session_report tokenkeep_session_report;
typedef struct tokenkeep_http_request tokenkeep_http_request;
typedef struct tokenkeep_http_response tokenkeep_http_response;

/* One attribute of an item: metadata, not a secret. */
typedef struct tokenkeep_attribute {
    const char *name;
    const char *value;
} tokenkeep_attribute;

/* A prompt. struct_size is the size of the library's structure: read no field beyond this size. */
typedef struct tokenkeep_prompt {
    size_t struct_size;
    uint32_t kind;    /* TOKENKEEP_PROMPT_... */
    uint32_t attempt; /* 1; 2 after a wrong answer, ... */
    const char *message;
    const char *service;
    const char *account;
} tokenkeep_prompt;

/* Answers a prompt: writes at most capacity bytes to answer, writes the number of these bytes to length and
 * returns TOKENKEEP_OK. Returns TOKENKEEP_CANCELLED if the user refuses. The library calls the function on
 * the thread of the call that needs the answer, with no lock held. */
typedef tokenkeep_status (*tokenkeep_prompt_fn)(void *data, const tokenkeep_prompt *prompt, char *answer,
                                                size_t capacity, size_t *length);

/* The options for opening a store. Start from TOKENKEEP_OPEN_OPTIONS_INIT. */
typedef struct tokenkeep_open_options {
    size_t struct_size;         /* sizeof(tokenkeep_open_options) */
    const char *stack;          /* name of a configured stack; NULL without stack_text: the default */
    const char *stack_text;     /* text of a stack; excludes stack */
    const char *name_space;     /* NULL: "" */
    uint32_t timeout_ms;        /* limit of each call as a whole; 0: 5000, with prompts 120000 */
    uint32_t flags;             /* TOKENKEEP_INTERACTIVE or 0 */
    tokenkeep_prompt_fn prompt; /* NULL: TokenKeep's own prompts stay unanswered */
    void *prompt_data;
} tokenkeep_open_options;

#define TOKENKEEP_OPEN_OPTIONS_INIT                                                                          \
    { sizeof(tokenkeep_open_options), NULL, NULL, NULL, 0, 0, NULL, NULL }

/* The options of a save. Start from TOKENKEEP_SAVE_OPTIONS_INIT. */
typedef struct tokenkeep_save_options {
    size_t struct_size;                    /* sizeof(tokenkeep_save_options) */
    uint32_t accessibility;                /* a level above, or 0 */
    uint32_t flags;                        /* of the save flags above */
    const char *label;                     /* NULL: "SERVICE (ACCOUNT)" */
    int64_t expires_at;                    /* Unix seconds; 0: never */
    uint64_t expected_version;             /* save only over this version, else TOKENKEEP_CONFLICT; 0: any */
    const tokenkeep_attribute *attributes; /* replace all attributes of an existing item */
    size_t attribute_count;
    uint64_t *saved_version; /* receives the new version; may be NULL */
} tokenkeep_save_options;

#define TOKENKEEP_SAVE_OPTIONS_INIT                                                                          \
    { sizeof(tokenkeep_save_options), 0, 0, NULL, 0, 0, NULL, 0, NULL }

#ifdef __cplusplus
}
#endif

#endif

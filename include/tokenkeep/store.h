/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Saving, loading and clearing session tokens.
 *
 * The rules of every function here:
 *
 * - Inputs come before outputs. Outputs are written only when the call returns TOKENKEEP_OK; `error` only when it
 *   does not.
 * - Every pointer is checked. NULL is allowed for `error` and for options. A NULL account is TOKENKEEP_INVALID; a
 *   NULL secret is valid with length 0. Getters return NULL or 0 for NULL; the message of a NULL error is "". Every
 *   ..._free function and tokenkeep_close accept NULL.
 * - Text is UTF-8 without control characters, ends with a NUL and is copied by the call. A getter's result lives as
 *   long as the getter's object. Items outlive their store.
 * - An object returned through a `**` pointer belongs to the caller, who passes the object to the matching ..._free
 *   function or to tokenkeep_close. The results of tokenkeep_items_at and tokenkeep_items_problem belong to the list.
 * - Any thread may use a handle, several threads at once. No thread may close or free a handle that another thread
 *   still uses. A store made before fork() returns TOKENKEEP_FORKED in the child; the child may close the store.
 * - fork() waits for calls of other threads, 100 ms at most, but not for a prompt function. If a call still runs then,
 *   every call in the child and in its children returns TOKENKEEP_FORKED at once, tokenkeep_open included; the ..._free
 *   functions and tokenkeep_close do nothing there. Otherwise the child may open a store. Work that a timed-out or
 *   cancelled call left behind is not waited for. A handler of pthread_atfork() that was registered before the library
 *   was loaded gets TOKENKEEP_FORKED; no call may run under a lock that such a handler takes. vfork() and posix_spawn()
 *   wait for nothing.
 * - A write that would pass RLIMIT_FSIZE is TOKENKEEP_IO; the host gets no SIGXFSZ.
 * - The vault's prompts need TOKENKEEP_INTERACTIVE and a prompt function. If a load or save finds the vault locked,
 *   the call asks for the vault's password, three times at most. The right answer unlocks the vault like
 *   tokenkeep_unlock. An item saved with TOKENKEEP_USER_PRESENCE asks at each use. Other calls never ask. The prompt
 *   function runs on the thread of the call, with no lock held; several threads may call the function at once.
 * - A call returns by the store's timeout_ms. A call may wait until then for another process that holds the same
 *   item. tokenkeep_cancel on another thread ends a call earlier.
 * - Structures grow at their end. Set struct_size (the ..._INIT macros do): the library reads only struct_size bytes.
 *   A field that the library does not know must be 0, else the call returns TOKENKEEP_UNSUPPORTED.
 * - Each function names the statuses of its own. Beside these, a function that returns a status may return
 *   TOKENKEEP_INVALID (an argument), TOKENKEEP_FORKED, TOKENKEEP_CANCELLED (tokenkeep_cancel), TOKENKEEP_TIMED_OUT,
 *   TOKENKEEP_IO (the system refuses memory or a file) and TOKENKEEP_INTERNAL. If the function uses the vault:
 *   TOKENKEEP_DENIED (its permissions), TOKENKEEP_CORRUPT (its header or keys are damaged), TOKENKEEP_UNSUPPORTED (a
 *   later version wrote a file) and TOKENKEEP_BUSY (another process held a lock past the deadline). If the stack has no
 *   line for the operation: TOKENKEEP_UNSUPPORTED.
 * - Messages never hold a secret. Nothing here may be called from a signal handler.
 */
/* clang-format on */
#ifndef TOKENKEEP_STORE_H
#define TOKENKEEP_STORE_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a store. Reads the configuration. Opens no module and touches neither bus nor network nor vault.
 * TOKENKEEP_INVALID: an option or the stack is malformed; the message names the line. TOKENKEEP_DENIED:
 * another user may write to a file of the stack or to its directory. TOKENKEEP_UNSUPPORTED: an unknown field
 * or flag is set. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_open(const tokenkeep_open_options *options,
                                                                        tokenkeep_store **store,
                                                                        tokenkeep_error **error);

/* Closes a store and wipes its memory, memory-only items included. */
TOKENKEEP_EXPORT void tokenkeep_close(tokenkeep_store *store);

/* Saves a secret of length bytes under (service, account), replacing an existing item. After TOKENKEEP_OK the
 * item survives a crash and a loss of power, unless the item is memory-only. After TOKENKEEP_IO or
 * TOKENKEEP_CANCELLED the item is either the old or the new item, whole. After any other failure the item is
 * unchanged.
 *
 * TOKENKEEP_DUPLICATE, TOKENKEEP_CONFLICT: the condition of the options is not met. TOKENKEEP_POLICY: no
 * module meets the level or the flags, or a save would drop the protection of an item. TOKENKEEP_UNSUPPORTED:
 * the level needs a device, and the vault is bound to none. TOKENKEEP_LOCKED: the item's place or class key
 * is locked. TOKENKEEP_UNAVAILABLE: no module can take the item, and none can get the item later.
 * TOKENKEEP_DENIED: three wrong passwords at the prompt, or a module refuses. TOKENKEEP_CANCELLED: the user
 * dismissed the prompt. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_save(tokenkeep_store *store, const char *service, const char *account, const void *secret,
               size_t length, const tokenkeep_save_options *options, tokenkeep_error **error);

/* Loads an item, expired or not: compare tokenkeep_item_expires_at with the clock.
 *
 * TOKENKEEP_NOT_FOUND: every module that could hold the item answered that it is missing. TOKENKEEP_LOCKED:
 * the item's place or class key is locked. TOKENKEEP_UNAVAILABLE: a module that may hold the item cannot be
 * reached. TOKENKEEP_CORRUPT: the item is damaged; nothing is deleted. TOKENKEEP_DENIED: three wrong
 * passwords at the prompt, or a module refuses. TOKENKEEP_CANCELLED: the user dismissed the prompt. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_load(tokenkeep_store *store,
                                                                        const char *service,
                                                                        const char *account,
                                                                        tokenkeep_item **item,
                                                                        tokenkeep_error **error);

/* Clears an item. Clearing a missing item is TOKENKEEP_OK, and so is a clear that a module missed: the
 * removal is pending for the module.
 *
 * TOKENKEEP_UNAVAILABLE, TOKENKEEP_LOCKED: a module cannot be asked, and the vault cannot note the removal.
 * TOKENKEEP_DENIED: a module refuses. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear(tokenkeep_store *store,
                                                                         const char *service,
                                                                         const char *account,
                                                                         tokenkeep_error **error);

/* Clears an item if the item still has this version. TOKENKEEP_CONFLICT: the item changed or is gone. Version
 * 0 is TOKENKEEP_INVALID. TOKENKEEP_UNAVAILABLE, TOKENKEEP_LOCKED: a module that may hold the item cannot be
 * asked; nothing has changed. TOKENKEEP_CORRUPT: the item is damaged. TOKENKEEP_DENIED: a module refuses. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear_if(tokenkeep_store *store,
                                                                            const char *service,
                                                                            const char *account,
                                                                            uint64_t version,
                                                                            tokenkeep_error **error);

/* Clears every item of a service in the store's namespace and writes the number of items to cleared (which
 * may be NULL). If an item cannot be read or cleared, the call clears all other items and then fails with the
 * status of tokenkeep_list or tokenkeep_clear. A module that was used here and cannot list its items now gets
 * a pending removal of the whole service: that is no failure, and items that only this module knows are not
 * counted. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear_service(tokenkeep_store *store,
                                                                                 const char *service,
                                                                                 size_t *cleared,
                                                                                 tokenkeep_error **error);

/* Lists the items of a service, or of all services for NULL, in the store's namespace: metadata only, no
 * secret. TOKENKEEP_OK if any module answered; tokenkeep_items_problem returns the error that left the list
 * incomplete. If no module answered, the worst of their statuses: TOKENKEEP_LOCKED, TOKENKEEP_UNAVAILABLE,
 * TOKENKEEP_DENIED and others. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_list(tokenkeep_store *store,
                                                                        const char *service,
                                                                        tokenkeep_items **items,
                                                                        tokenkeep_error **error);

/* Drains the pending writes and removals of the store's modules on this machine, for items of every
 * namespace. The store records every save or clear that a module missed, and applies the change when the
 * module answers again. Loads, saves and clears drain their own item; this call drains all items.
 *
 * drained and left receive the numbers of drained and still pending items (each pointer may be NULL). An item
 * that cannot be drained, because its module is unavailable or the deadline passed, is no failure: left
 * counts the item. TOKENKEEP_OK with left 0: no change of these modules is pending any more.
 * TOKENKEEP_CORRUPT, TOKENKEEP_DENIED, TOKENKEEP_IO and others: the vault's records cannot be read. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_sync(tokenkeep_store *store,
                                                                        size_t *drained, size_t *left,
                                                                        tokenkeep_error **error);

/* Checks whether items can be loaded now, or saved if for_saving is not 0. Never prompts, changes nothing,
 * and returns within two seconds; before them it may derive the key of a password that the options give,
 * within the call's timeout. A program asks before it shows a sign-in whose tokens it could not keep.
 *
 * TOKENKEEP_LOCKED: a user must unlock the vault or the keyring first. TOKENKEEP_UNAVAILABLE or
 * TOKENKEEP_TIMED_OUT: a module cannot be reached. TOKENKEEP_DENIED, TOKENKEEP_IO or TOKENKEEP_INVALID: no
 * vault can be made in its place (it is another user's, a read-only file system, or no absolute path). */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_ready(tokenkeep_store *store,
                                                                         uint32_t for_saving,
                                                                         tokenkeep_error **error);

/* Unlocks the vault with its password of length bytes, for every process of the user. The kernel keeps the
 * keys until tokenkeep_lock or the machine's shutdown. The key of TOKENKEEP_WHEN_UNLOCKED is removed when the
 * screen is locked, if tokenkeep-agent runs, else 180 seconds after the unlock; an unlock while the screen is
 * locked opens these items with the screen. If the kernel's keyring cannot be used (a container, a full
 * quota), this store alone keeps the keys, until the store is closed or locked.
 *
 * TOKENKEEP_DENIED: the password is wrong. TOKENKEEP_UNSUPPORTED: the vault has no password and is never
 * locked. TOKENKEEP_CORRUPT: the header was altered without the password, or is older than the machine's TPM
 * knows. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_unlock(tokenkeep_store *store,
                                                                          const void *password, size_t length,
                                                                          tokenkeep_error **error);

/* Locks the vault for every process of the user: loads and saves return TOKENKEEP_LOCKED until the next
 * unlock; clearing needs no key. If the kernel's keyring cannot be reached, the vault is locked for this
 * program alone.
 *
 * TOKENKEEP_IO: a key remains in the kernel. TOKENKEEP_UNSUPPORTED: the vault has no password.
 * TOKENKEEP_CORRUPT: the header is damaged; the keys are removed all the same. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_lock(tokenkeep_store *store,
                                                                        tokenkeep_error **error);

/* Returns the present protection of an item of this level (0: the default) with these flags, in the store's
 * stack and on this machine. TOKENKEEP_UNSUPPORTED: the level needs a device, and the vault is bound to none;
 * or the stack saves nothing. TOKENKEEP_POLICY: the level needs a password, and the vault has none. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_protection_for(tokenkeep_store *store, uint32_t accessibility, uint32_t flags,
                         tokenkeep_protection **protection, tokenkeep_error **error);

/* The strength of protection on an axis, TOKENKEEP_AXIS_...: TOKENKEEP_PROTECTION_NONE, _ADVISORY or
 * _ENFORCED; _NONE for an unknown axis. */
TOKENKEEP_EXPORT uint32_t tokenkeep_protection_axis(const tokenkeep_protection *protection, uint32_t axis);
/* The mechanism that protects an axis, or the reason why none does, in words; NULL for an unknown axis. */
TOKENKEEP_EXPORT const char *tokenkeep_protection_mechanism(const tokenkeep_protection *protection,
                                                            uint32_t axis);
/* Frees a protection. */
TOKENKEEP_EXPORT void tokenkeep_protection_free(tokenkeep_protection *protection);

/* Cancels the calls in flight on the store, from any thread; does nothing for NULL. A cancelled call soon
 * returns TOKENKEEP_CANCELLED, or its result if the work was already done. An open prompt is dismissed. Later
 * calls and watches are not affected.
 *
 * A cancelled save or clear has happened as a whole or not at all. If a module may have got the change, a
 * later call resolves the change like a write whose answer did not come. */
TOKENKEEP_EXPORT void tokenkeep_cancel(tokenkeep_store *store);

/* The number of items in the list. */
TOKENKEEP_EXPORT size_t tokenkeep_items_count(const tokenkeep_items *items);
/* The item at index, in the order of service and account; NULL past the end. Owned by the list. */
TOKENKEEP_EXPORT const tokenkeep_item *tokenkeep_items_at(const tokenkeep_items *items, size_t index);
/* The error that left the list incomplete, or NULL. Owned by the list. */
TOKENKEEP_EXPORT const tokenkeep_error *tokenkeep_items_problem(const tokenkeep_items *items);
/* Frees a list and its items. */
TOKENKEEP_EXPORT void tokenkeep_items_free(tokenkeep_items *items);

/* The bytes of the secret, followed by a NUL; length (which may be NULL) receives the number of bytes without
 * the NUL. NULL and 0 for a listed item, whose secret was not read. An empty secret is not NULL. */
TOKENKEEP_EXPORT const void *tokenkeep_item_secret(const tokenkeep_item *item, size_t *length);
/* The name of the item, the label for people, and the module that held the item. */
TOKENKEEP_EXPORT const char *tokenkeep_item_namespace(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_service(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_account(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_label(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_module(const tokenkeep_item *item);
/* The number of attributes of the item. */
TOKENKEEP_EXPORT size_t tokenkeep_item_attribute_count(const tokenkeep_item *item);
/* The attribute at index, in the order of the names. Returns 1 and writes both outputs (each pointer may be
 * NULL), or returns 0 past the end. */
TOKENKEEP_EXPORT int tokenkeep_item_attribute_at(const tokenkeep_item *item, size_t index, const char **name,
                                                 const char **value);
/* The value of the attribute, or NULL if the item has no attribute of this name. */
TOKENKEEP_EXPORT const char *tokenkeep_item_attribute(const tokenkeep_item *item, const char *name);
/* The level of the item, 0 for NULL, and the flags kept with the item. */
TOKENKEEP_EXPORT uint32_t tokenkeep_item_accessibility(const tokenkeep_item *item);
TOKENKEEP_EXPORT uint32_t tokenkeep_item_flags(const tokenkeep_item *item);
/* The times of the first save, the last save and the expiry, in Unix seconds; 0: unknown, or no expiry. */
TOKENKEEP_EXPORT int64_t tokenkeep_item_created_at(const tokenkeep_item *item);
TOKENKEEP_EXPORT int64_t tokenkeep_item_modified_at(const tokenkeep_item *item);
TOKENKEEP_EXPORT int64_t tokenkeep_item_expires_at(const tokenkeep_item *item);
/* The version of the item, which changes if and only if the secret or the metadata changes. Never 0 on a
 * loaded item; 0 on a listed item of unknown version. For tokenkeep_save_options.expected_version and
 * tokenkeep_clear_if. */
TOKENKEEP_EXPORT uint64_t tokenkeep_item_version(const tokenkeep_item *item);
/* Frees an item and wipes its secret. Not for an item of a list. */
TOKENKEEP_EXPORT void tokenkeep_item_free(tokenkeep_item *item);

/* The status of an error; TOKENKEEP_OK for NULL. */
TOKENKEEP_EXPORT tokenkeep_status tokenkeep_error_status(const tokenkeep_error *error);
/* The failure, the item and the remedy, in one line; "" for NULL. */
TOKENKEEP_EXPORT const char *tokenkeep_error_message(const tokenkeep_error *error);
/* The module that failed, or NULL. Of TOKENKEEP_NOT_FOUND: a module that answered, or NULL. */
TOKENKEEP_EXPORT const char *tokenkeep_error_module(const tokenkeep_error *error);
/* Frees an error. Not for the error of tokenkeep_items_problem. */
TOKENKEEP_EXPORT void tokenkeep_error_free(tokenkeep_error *error);

/* The name of a status, "NOT_FOUND"; "UNKNOWN" for an unknown number. A constant. */
TOKENKEEP_EXPORT const char *tokenkeep_status_name(tokenkeep_status status);
/* The version of the loaded library, "0.1.0". A constant. */
TOKENKEEP_EXPORT const char *tokenkeep_version(void);
/* The version of the loaded library as a number: major * 10^6 + minor * 10^3 + patch. */
TOKENKEEP_EXPORT uint32_t tokenkeep_version_number(void);

#ifdef __cplusplus
}
#endif

#endif

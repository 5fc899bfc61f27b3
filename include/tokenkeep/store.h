/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Saving, loading and clearing session tokens.
 *
 * The rules of every function here:
 *
 * - Inputs come before outputs. Outputs are written only when the call returns TOKENKEEP_OK; `error` only when it
 *   does not.
 * - Every pointer is checked. NULL is allowed for `error` and for options. A NULL account is TOKENKEEP_INVALID; a NULL
 *   secret is valid with length 0. Getters on NULL answer NULL or 0; the message of no error is "". Every ..._free and
 *   tokenkeep_close take NULL.
 * - Text is UTF-8 without control characters, ends with a NUL and is copied by the call. What a getter returns lives as
 *   long as the object it was asked of. Items outlive the store they came from.
 * - What a call returns through a `**` pointer belongs to the caller, who gives it to the matching ..._free or
 *   tokenkeep_close. What tokenkeep_items_at and tokenkeep_items_problem return belongs to the list.
 * - Handles may be used from any thread, several at once; closing or freeing one that another thread still uses is the
 *   caller's mistake. A store made before fork() answers TOKENKEEP_FORKED in the child, where it may be closed.
 * - Where TOKENKEEP_INTERACTIVE is set and a prompt function given, a load or save that meets a locked vault asks for its
 *   password by that function, on its own thread and with no lock held, three times at most; an item saved with
 *   TOKENKEEP_USER_PRESENCE asks at each use. The right answer unlocks the vault as tokenkeep_unlock does. Other calls never ask. The function may be called by several threads at once.
 * - A call returns by the store's timeout_ms. It may wait that long for another process that holds the same item. From
 *   another thread tokenkeep_cancel ends it earlier.
 * - Structures grow at their end. Set struct_size (the ..._INIT macros do): the library reads no more than that many
 *   bytes. Fields it does not know must be 0: TOKENKEEP_UNSUPPORTED otherwise.
 * - Messages never hold a secret. Nothing here may be called from a signal handler.
 */
/* clang-format on */
#ifndef TOKENKEEP_STORE_H
#define TOKENKEEP_STORE_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a store. Reads configuration only: no module is opened, neither bus nor network nor vault touched.
 * TOKENKEEP_INVALID: an option or the stack is malformed; the message names the line. TOKENKEEP_UNSUPPORTED:
 * an unknown field or flag is set. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_open(const tokenkeep_open_options *options,
                                                                        tokenkeep_store **store,
                                                                        tokenkeep_error **error);

/* Closes a store and wipes what it holds, memory-only items included. */
TOKENKEEP_EXPORT void tokenkeep_close(tokenkeep_store *store);

/* Saves a secret of length bytes under (service, account), replacing what is there. When it returns
 * TOKENKEEP_OK the item survives a crash and a loss of power (a memory-only item excepted). On failure the
 * item is as it was before; after TOKENKEEP_IO or TOKENKEEP_CANCELLED it is either the old or the new one,
 * whole. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_save(tokenkeep_store *store, const char *service, const char *account, const void *secret,
               size_t length, const tokenkeep_save_options *options, tokenkeep_error **error);

/* Loads an item. An expired one is loaded like any other: compare tokenkeep_item_expires_at with the clock.
 */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_load(tokenkeep_store *store,
                                                                        const char *service,
                                                                        const char *account,
                                                                        tokenkeep_item **item,
                                                                        tokenkeep_error **error);

/* Clears an item. Clearing what is not there is TOKENKEEP_OK. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear(tokenkeep_store *store,
                                                                         const char *service,
                                                                         const char *account,
                                                                         tokenkeep_error **error);

/* Clears an item if it still has this version; TOKENKEEP_CONFLICT if it changed or is gone. version 0 is
 * TOKENKEEP_INVALID. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear_if(tokenkeep_store *store,
                                                                            const char *service,
                                                                            const char *account,
                                                                            uint64_t version,
                                                                            tokenkeep_error **error);

/* Clears every item of a service in the store's namespace and says how many (cleared may be NULL). What can
 * be cleared is cleared even when the call then fails because something could not be read. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_clear_service(tokenkeep_store *store,
                                                                                 const char *service,
                                                                                 size_t *cleared,
                                                                                 tokenkeep_error **error);

/* Lists the items of a service, or of all services for NULL, in the store's namespace: metadata only, no
 * secret. TOKENKEEP_OK if any module answered; tokenkeep_items_problem names what could not be asked or read.
 */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_list(tokenkeep_store *store,
                                                                        const char *service,
                                                                        tokenkeep_items **items,
                                                                        tokenkeep_error **error);

/* Drains the pending writes and removals of the store's modules on this machine, for items of every
 * namespace: a save or clear that a module missed is recorded, and applied when the module answers again.
 * Loads, saves and clears drain their own item; this call drains all. Counts the items that are drained and
 * those that are left (each pointer may be NULL). An item that cannot be drained, because its module is
 * unavailable or the deadline passed, is no failure: left counts it. TOKENKEEP_OK with left 0: nothing is
 * pending any more. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_sync(tokenkeep_store *store,
                                                                        size_t *drained, size_t *left,
                                                                        tokenkeep_error **error);

/* Unlocks the vault with its password, length bytes, for every process of the user: the keys are in the
 * kernel until tokenkeep_lock, the machine's end or, for TOKENKEEP_WHEN_UNLOCKED, 180 seconds later. Where
 * the kernel's keyring cannot be used (a container, a full quota) they are in this store alone, until it is
 * closed or locked. TOKENKEEP_DENIED: the password is wrong. TOKENKEEP_UNSUPPORTED: the vault has none, so it
 * is never locked. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_unlock(tokenkeep_store *store,
                                                                          const void *password, size_t length,
                                                                          tokenkeep_error **error);

/* Locks the vault for every process of the user: loads and saves are TOKENKEEP_LOCKED until the next unlock;
 * clearing needs no key. Where the kernel's keyring cannot be reached, it is locked for this program alone.
 * TOKENKEEP_IO: a key is left. TOKENKEEP_UNSUPPORTED: the vault has no password. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_lock(tokenkeep_store *store,
                                                                        tokenkeep_error **error);

/* What is really achieved for an item of this level (0: the default) with these flags, in the store's stack
 * and on this machine, as it is now. TOKENKEEP_UNSUPPORTED: such an item cannot be saved here at all. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_protection_for(tokenkeep_store *store, uint32_t accessibility, uint32_t flags,
                         tokenkeep_protection **protection, tokenkeep_error **error);

/* How well an axis, TOKENKEEP_AXIS_..., is protected: TOKENKEEP_PROTECTION_NONE, _ADVISORY or _ENFORCED. */
TOKENKEEP_EXPORT uint32_t tokenkeep_protection_axis(const tokenkeep_protection *protection, uint32_t axis);
/* By what, or why not, in words; NULL for what is no axis. */
TOKENKEEP_EXPORT const char *tokenkeep_protection_mechanism(const tokenkeep_protection *protection,
                                                            uint32_t axis);
/* Frees a protection. */
TOKENKEEP_EXPORT void tokenkeep_protection_free(tokenkeep_protection *protection);

/* Ends every call that is in flight on the store, whichever thread made it: it returns TOKENKEEP_CANCELLED
 * soon, or what it came to where it was done all the same. A prompt that is open is dismissed. Calls that
 * begin later are not concerned, nor are watches. A cancelled save or clear has happened as a whole or not at
 * all: if a module may have got it, a later call resolves it as after a missing answer. NULL: nothing. */
TOKENKEEP_EXPORT void tokenkeep_cancel(tokenkeep_store *store);

/* How many items the list has. */
TOKENKEEP_EXPORT size_t tokenkeep_items_count(const tokenkeep_items *items);
/* The item at index, in the order of service and account; NULL past the end. It belongs to the list. */
TOKENKEEP_EXPORT const tokenkeep_item *tokenkeep_items_at(const tokenkeep_items *items, size_t index);
/* What could not be asked or read, or NULL where the list is complete. It belongs to the list. */
TOKENKEEP_EXPORT const tokenkeep_error *tokenkeep_items_problem(const tokenkeep_items *items);
/* Frees a list and its items. */
TOKENKEEP_EXPORT void tokenkeep_items_free(tokenkeep_items *items);

/* The secret's bytes, with a NUL behind them, and their number in length (which may be NULL). NULL and 0 for
 * a listed item, whose secret was not read; an empty secret is not NULL. */
TOKENKEEP_EXPORT const void *tokenkeep_item_secret(const tokenkeep_item *item, size_t *length);
/* Where the item is named, what a person calls it, and the module that held it. */
TOKENKEEP_EXPORT const char *tokenkeep_item_namespace(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_service(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_account(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_label(const tokenkeep_item *item);
TOKENKEEP_EXPORT const char *tokenkeep_item_module(const tokenkeep_item *item);
/* How many attributes the item has. */
TOKENKEEP_EXPORT size_t tokenkeep_item_attribute_count(const tokenkeep_item *item);
/* The attribute at index, in the order of the names: 1 and both outputs (each may be NULL), or 0 past the
 * end. */
TOKENKEEP_EXPORT int tokenkeep_item_attribute_at(const tokenkeep_item *item, size_t index, const char **name,
                                                 const char **value);
/* The value of the attribute, or NULL where there is none of this name. */
TOKENKEEP_EXPORT const char *tokenkeep_item_attribute(const tokenkeep_item *item, const char *name);
/* The level, TOKENKEEP_WHEN_UNLOCKED and on, and the flags kept with the item. */
TOKENKEEP_EXPORT uint32_t tokenkeep_item_accessibility(const tokenkeep_item *item);
TOKENKEEP_EXPORT uint32_t tokenkeep_item_flags(const tokenkeep_item *item);
/* Unix seconds; 0 = none or not known. */
TOKENKEEP_EXPORT int64_t tokenkeep_item_created_at(const tokenkeep_item *item);
TOKENKEEP_EXPORT int64_t tokenkeep_item_modified_at(const tokenkeep_item *item);
TOKENKEEP_EXPORT int64_t tokenkeep_item_expires_at(const tokenkeep_item *item);
/* Changes whenever the secret or the metadata does, and only then. Never 0 on a loaded item; 0 on a listed
 * one where it is not known. For tokenkeep_save_options.expected_version and tokenkeep_clear_if. */
TOKENKEEP_EXPORT uint64_t tokenkeep_item_version(const tokenkeep_item *item);
/* Frees an item and wipes its secret. Not for an item of a list. */
TOKENKEEP_EXPORT void tokenkeep_item_free(tokenkeep_item *item);

/* The status that an error stands for; TOKENKEEP_OK for NULL. */
TOKENKEEP_EXPORT tokenkeep_status tokenkeep_error_status(const tokenkeep_error *error);
/* What happened, to which item, and what to do: one line; "" for NULL. */
TOKENKEEP_EXPORT const char *tokenkeep_error_message(const tokenkeep_error *error);
/* The module it happened in, or NULL. */
TOKENKEEP_EXPORT const char *tokenkeep_error_module(const tokenkeep_error *error);
/* Frees an error. Not for one of tokenkeep_items_problem. */
TOKENKEEP_EXPORT void tokenkeep_error_free(tokenkeep_error *error);

/* A status in letters, "NOT_FOUND"; "UNKNOWN" for a number that is none. A constant. */
TOKENKEEP_EXPORT const char *tokenkeep_status_name(tokenkeep_status status);
/* The version of the loaded library, "0.1.0". A constant. */
TOKENKEEP_EXPORT const char *tokenkeep_version(void);
/* The same as a number: major * 10^6 + minor * 10^3 + patch. */
TOKENKEEP_EXPORT uint32_t tokenkeep_version_number(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Watching a store: reports the items that any process saves or clears, without the values of the items.
 * The rules of tokenkeep/store.h hold here too.
 *
 *     struct pollfd poller = {tokenkeep_watch_fd(watch), POLLIN, 0};
 *     while (poll(&poller, 1, 30000) >= 0)
 *         while (tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK) {
 *             ...
 *             tokenkeep_event_free(event);
 *         }
 *
 * A watch reports the difference between the lists that tokenkeep_list returns before and now:
 *
 * - An item that only moves from one module to another, or is saved as it was, has not changed. Several changes of one
 *   item may be reported as one. An item that was saved and cleared between two lists may not be reported at all.
 * - If the watch cannot name the changed item, the event is TOKENKEEP_EVENT_LIST_AGAIN: list the items again.
 * - TokenKeep wakes the watches of all processes that use the same vault. An item that another program makes or removes
 *   in the Secret Service is reported when the service signals the change. A service need not signal a changed item
 *   (gnome-keyring does not). Such a change is reported by a tokenkeep_watch_next at least 30 seconds after the last
 *   list. Hence the timeout of poll above.
 * - A vault that is removed has no items. The watch waits for a vault at its path, and goes on with the vault that is
 *   restored, moved or made there. Files may be copied there for a while: the watch lists again, in growing pauses, for a
 *   minute after the last change that it finds.
 * - Memory-only items are not watched.
 */
/* clang-format on */
#ifndef TOKENKEEP_WATCH_H
#define TOKENKEEP_WATCH_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of events. A program ignores an unknown kind, or treats an unknown kind as the first kind. */
/* An item changed that the watch cannot name: list the items again. */
#define TOKENKEEP_EVENT_LIST_AGAIN 1
/* The item was saved: the item is new, or its secret or metadata changed. */
#define TOKENKEEP_EVENT_SAVED 2
/* The item was cleared. */
#define TOKENKEEP_EVENT_CLEARED 3

/* Begins to watch the items of a service, or of all services for NULL, in the store's namespace. The watch
 * reports the changes after this call has returned. The call lists the present items like tokenkeep_list. A
 * module that cannot be read now causes TOKENKEEP_EVENT_LIST_AGAIN when the module can be read. The vault
 * need not exist yet.
 *
 * The watch belongs to the caller, who closes the watch with tokenkeep_watch_close. The store may be closed
 * first; its memory-only items are then wiped when the watch is closed.
 *
 * TOKENKEEP_IO: the system allows no more watches or descriptors. TOKENKEEP_UNSUPPORTED: the stack lists
 * nothing. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_watch_open(tokenkeep_store *store,
                                                                              const char *service,
                                                                              tokenkeep_watch **watch,
                                                                              tokenkeep_error **error);

/* A descriptor that is readable (poll, select, epoll) while tokenkeep_watch_next may have an event. A
 * readable descriptor does not promise an event. The descriptor stays the same for the watch's whole life; -1
 * for NULL. Owned by the watch: neither read nor close the descriptor. The descriptor is closed on exec. */
TOKENKEEP_EXPORT int tokenkeep_watch_fd(const tokenkeep_watch *watch);

/* Returns the next event. TOKENKEEP_NOT_FOUND: nothing has changed. This status is no failure; no error
 * object is made if error is NULL. The function never waits for a change. After a change, the function lists
 * the items within the store's timeout_ms.
 *
 * Any thread may call the function; each event is returned once, to one thread. In a child made by fork() the
 * function returns TOKENKEEP_FORKED: open a store and a watch in the child. The event belongs to the caller,
 * who frees the event with tokenkeep_event_free. An event outlives its watch. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_watch_next(tokenkeep_watch *watch,
                                                                              tokenkeep_event **event,
                                                                              tokenkeep_error **error);

/* Ends a watch and closes its descriptor; other watches go on. In a child made by fork() the function closes
 * only the child's copies. */
TOKENKEEP_EXPORT void tokenkeep_watch_close(tokenkeep_watch *watch);

/* The kind of an event, TOKENKEEP_EVENT_...; 0 for NULL. */
TOKENKEEP_EXPORT uint32_t tokenkeep_event_kind(const tokenkeep_event *event);
/* The namespace of the store. */
TOKENKEEP_EXPORT const char *tokenkeep_event_namespace(const tokenkeep_event *event);
/* The service and the account of the item; NULL if the event names no item. */
TOKENKEEP_EXPORT const char *tokenkeep_event_service(const tokenkeep_event *event);
TOKENKEEP_EXPORT const char *tokenkeep_event_account(const tokenkeep_event *event);
/* Frees an event. */
TOKENKEEP_EXPORT void tokenkeep_event_free(tokenkeep_event *event);

#ifdef __cplusplus
}
#endif

#endif

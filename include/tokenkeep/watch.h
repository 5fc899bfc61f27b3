/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Watching what changes in a store: which items are saved and cleared, by whichever process, without their values.
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
 * - If the watch cannot name the changed item, the event is TOKENKEEP_EVENT_READ_AGAIN: list the items again.
 * - TokenKeep wakes the watches of all processes that use the same vault. An item that another program makes or removes
 *   in the Secret Service is reported when the service signals it. A service need not signal a changed item (gnome-keyring
 *   does not): the change is reported with the next one, or by a tokenkeep_watch_next half a minute or more after the last
 *   list. Hence the timeout of poll above.
 * - Memory-only items are not watched.
 */
/* clang-format on */
#ifndef TOKENKEEP_WATCH_H
#define TOKENKEEP_WATCH_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of events. A program ignores those it does not know, or takes them for the first. */
/* An item changed that the watch cannot name: list the items again. */
#define TOKENKEEP_EVENT_READ_AGAIN 1
/* The item was saved: it is new, or its secret or metadata is another. */
#define TOKENKEEP_EVENT_SAVED 2
/* The item was cleared. */
#define TOKENKEEP_EVENT_CLEARED 3

/* Begins to watch the items of a service, or of all services for NULL, in the store's namespace. What changes
 * after it returned is told. It reads what is there, as tokenkeep_list does; what cannot be read now is told
 * as TOKENKEEP_EVENT_READ_AGAIN once it can. The vault need not be there yet.
 *
 * The watch belongs to the caller, who gives it to tokenkeep_watch_close. It keeps what it needs of the
 * store, which may be closed before; memory-only items are then wiped when the watch is closed too.
 * TOKENKEEP_IO: the system allows no more watches or descriptors. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_watch_open(tokenkeep_store *store,
                                                                              const char *service,
                                                                              tokenkeep_watch **watch,
                                                                              tokenkeep_error **error);

/* A descriptor that is readable (poll, select, epoll) while tokenkeep_watch_next may have something to tell;
 * sometimes it then has nothing. The same for the watch's whole life; -1 for NULL. It belongs to the watch:
 * only wait for it, neither read nor close it. It is closed on exec. */
TOKENKEEP_EXPORT int tokenkeep_watch_fd(const tokenkeep_watch *watch);

/* The next event. TOKENKEEP_NOT_FOUND: nothing has changed; this is no failure, and with a NULL error costs
 * nothing. Never waits for a change. After one it reads the list of items, within the store's timeout_ms.
 *
 * May be called from any thread; each event is told once, to one of them. In a child made by fork() it is
 * TOKENKEEP_FORKED: open a store and a watch there. The event belongs to the caller, outlives the watch, and
 * is given to tokenkeep_event_free. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_watch_next(tokenkeep_watch *watch,
                                                                              tokenkeep_event **event,
                                                                              tokenkeep_error **error);

/* Ends a watch and closes its descriptor; other watches go on. In a child made by fork() it closes the
 * child's copies alone. */
TOKENKEEP_EXPORT void tokenkeep_watch_close(tokenkeep_watch *watch);

/* The kind of an event, TOKENKEEP_EVENT_READ_AGAIN and on; 0 for NULL. */
TOKENKEEP_EXPORT uint32_t tokenkeep_event_kind(const tokenkeep_event *event);
/* The namespace of the store. */
TOKENKEEP_EXPORT const char *tokenkeep_event_namespace(const tokenkeep_event *event);
/* The item; NULL where the event names none. */
TOKENKEEP_EXPORT const char *tokenkeep_event_service(const tokenkeep_event *event);
TOKENKEEP_EXPORT const char *tokenkeep_event_account(const tokenkeep_event *event);
/* Frees an event. */
TOKENKEEP_EXPORT void tokenkeep_event_free(tokenkeep_event *event);

#ifdef __cplusplus
}
#endif

#endif

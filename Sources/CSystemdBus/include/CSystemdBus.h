#ifndef TOKENKEEP_SYSTEMD_BUS_H
#define TOKENKEEP_SYSTEMD_BUS_H

#include <systemd/sd-bus.h>

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Adds the part of the socket's credentials that sd-bus does not give: the user id of the bus daemon; -1 if
 * unknown. */
int64_t tokenkeep_bus_owner(sd_bus *bus);

/* A signal's file descriptor (signalfd(2)) for SIGTERM, SIGINT and SIGHUP, which are blocked; -1 on failure.
 */
int tokenkeep_signals_open(void);

/* An event's file descriptor (eventfd(2)), close-on-exec and non-blocking; -1 on failure. */
int tokenkeep_event_open(void);

/* Lets all threads share one heap: its free memory serves each of them. To be called before the first thread.
 */
void tokenkeep_share_heap(void);

/* Makes the process non-dumpable and its core size zero: a core holds no secret. */
void tokenkeep_forbid_cores(void);

/* Lets the process have as many file descriptors as the hard limit allows, 65536 at most. A message on the
   bus may carry 253. */
void tokenkeep_allow_descriptors(void);

/* The limit before tokenkeep_allow_descriptors, for programs that use select(2), which takes 1024
   descriptors; NULL if it was not changed. */
const struct rlimit *tokenkeep_former_limit(void);

/* The identity of a terminal's file: whether two paths lead to the same device file. */
int tokenkeep_is_same_file(const char *path, const char *other);

/* Makes `descriptor` inherited by programs (1) or not (0). */
void tokenkeep_inherit(int descriptor, int is_inherited);

/* A memory file with these bytes, which programs inherit; -1 on failure. */
int tokenkeep_text_file(const char *text, size_t length);

#endif

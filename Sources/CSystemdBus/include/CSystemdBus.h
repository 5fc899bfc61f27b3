#ifndef TOKENKEEP_SYSTEMD_BUS_H
#define TOKENKEEP_SYSTEMD_BUS_H

#include <systemd/sd-bus.h>

#include <stdint.h>
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
   bus may carry 253. Programs that tokenkeep_asking_start starts get the former limit: select(2) takes 1024.
 */
void tokenkeep_allow_descriptors(void);

/* Starts a program in a session of its own, with pipes as its standard input and output and nothing as its
   standard error. The program gets SIGINT when the calling thread ends. Other descriptors are closed in it.
   0, or an errno. */
int tokenkeep_asking_start(const char *path, char *const environment[], pid_t *process, int *input,
                           int *output);

/* The identity of a terminal's file: whether two paths lead to the same device file. */
int tokenkeep_is_same_file(const char *path, const char *other);

/* Starts a program. It gets `signal_number` when the calling thread ends (0: nothing), and of this process's
   descriptors those that are not close-on-exec. 0, or an errno, also if the program cannot be executed. */
int tokenkeep_companion_start(const char *path, char *const arguments[], char *const environment[],
                              int signal_number, pid_t *process);

/* Makes `descriptor` inherited by programs (1) or not (0). */
void tokenkeep_inherit(int descriptor, int is_inherited);

/* A memory file with these bytes, which programs inherit; -1 on failure. */
int tokenkeep_text_file(const char *text, size_t length);

/* The exit code of a shell for a status of waitpid(2). */
int tokenkeep_exit_code(int status);

#endif

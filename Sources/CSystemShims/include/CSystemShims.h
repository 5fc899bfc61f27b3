/* System functions that Swift's Glibc lacks or cannot call. */
#ifndef TOKENKEEP_SYSTEM_SHIMS_H
#define TOKENKEEP_SYSTEM_SHIMS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Non-zero if the kernel runs this program with raised privileges (AT_SECURE of getauxval(3)). */
int tokenkeep_is_secure_execution(void);

/* openat(2) with a mode. Swift cannot import the variadic function. Retries after EINTR. A new file gets the
 * whole mode, in spite of umask(2). -1 and errno on failure. */
int tokenkeep_openat(int directory, const char *path, int flags, mode_t mode);

/* Makes a directory of mode 0700, in spite of umask(2). -1 and errno on failure. */
int tokenkeep_mkdirat(int directory, const char *path);

/* write(2), or pwrite(2) at an offset from 0 on. Retries EINTR. Beyond RLIMIT_FSIZE: -1 and EFBIG, without
 * the signal SIGXFSZ. */
ssize_t tokenkeep_write(int descriptor, const void *bytes, size_t count, off_t offset);

/* write(2) to a pipe. Retries EINTR. Without a reader: -1 and EPIPE, without the signal SIGPIPE. */
ssize_t tokenkeep_write_pipe(int descriptor, const void *bytes, size_t count);

/* fstat(2) and fstatat(2). In Swift, `stat` is ambiguous between the type and the function. */
int tokenkeep_fstat(int descriptor, struct stat *status);
int tokenkeep_fstatat(int directory, const char *path, struct stat *status, int flags);

/* The user at the other end of a connected unix socket, as of the time when that end began to listen. 0 on
 * success; -1 if the descriptor is not such a socket or the kernel does not know the user. */
int tokenkeep_socket_peer(int socket, uid_t *user);

/* Whether a wait was cancelled. Called regularly on the waiting thread. */
typedef int (*tokenkeep_is_cancelled)(const void *data);

/* The longest time between two calls of tokenkeep_is_cancelled, in milliseconds. */
#define TOKENKEEP_CANCELLATION_GLANCE_MS 10

/* The byte of a lock file that is locked while a caller waits for the bytes of all items. */
#define TOKENKEEP_LOCK_GATE (INT64_MAX - 1)

/* How a lock uses the gate. */
enum tokenkeep_lock_gate {
    TOKENKEEP_NO_GATE,
    /* Waits, but not for long, while another caller waits for the bytes of all items. */
    TOKENKEEP_PASSING_GATE,
    /* While this caller waits, and until its lock is released, callers that pass the gate get no new
     * locks. */
    TOKENKEEP_CLOSING_GATE,
};

/* Locks length bytes at offset of the file path in directory (F_OFD_SETLK, a write lock of the open file
 * description). Length 0 means the whole file. A missing file is made.
 *
 * Waits at most timeout_ms, and only while is_cancelled, unless NULL, returns 0. Returns 0 and the locked
 * descriptor; EBUSY if the wait ended before; EBADFD if path is not a regular file; or another errno.
 *
 * Each lock has its own descriptor: two threads with a shared descriptor would both succeed. The path is
 * looked up again after locking, so that a lock on a removed file does not count as a lock on its
 * successor. A child made by fork() closes the descriptors: it would keep the lock of a parent that dies. */
int tokenkeep_lock_acquire(int directory, const char *path, off_t offset, off_t length,
                           enum tokenkeep_lock_gate gate, uint32_t timeout_ms,
                           tokenkeep_is_cancelled is_cancelled, const void *data, int *descriptor);

/* Locks like tokenkeep_lock_acquire, but without waiting. EBUSY if the lock is held elsewhere. */
int tokenkeep_lock_try(int directory, const char *path, off_t offset, off_t length, int *descriptor);

/* Whether another open file description holds a lock on the file path in directory (F_OFD_GETLK). Takes no
 * lock. 0 if the file is missing or cannot be read. */
int tokenkeep_lock_is_held(int directory, const char *path);

/* Releases a lock and closes its descriptor, as returned by tokenkeep_lock_acquire or tokenkeep_lock_try. */
void tokenkeep_lock_release(int descriptor);

/* A new descriptor that becomes readable when one of the signals is pending (signalfd(2)). The caller must
 * have blocked the signals. -1 and errno on failure. */
int tokenkeep_signal_descriptor(const sigset_t *signals);

/* The number of the next signal of a signal descriptor; 0 if there is none. Does not wait. */
int tokenkeep_next_signal(int descriptor);

/* Accepts a connection, close-on-exec and non-blocking (accept4(2)). Retries EINTR. -1 and errno if none
 * waits. */
int tokenkeep_accept(int socket);

/* The number of terminal columns for a Unicode scalar: 0, 1 or 2 (wcwidth(3) in a UTF-8 locale). */
int tokenkeep_display_width(uint32_t scalar);

/* The monotonic clock (CLOCK_MONOTONIC), in nanoseconds. No other code reads this clock. */
int64_t tokenkeep_now(void);

/* The time, by tokenkeep_now(), that is `milliseconds` after now. */
int64_t tokenkeep_deadline_after(uint32_t milliseconds);

/* The timeout for a wait until a deadline in poll(2), curl, GLib or a socket: milliseconds, rounded up, at
 * most INT_MAX. 0 if the deadline has passed. */
int tokenkeep_timeout_until(int64_t deadline);

/* Waits for a condition, with its mutex held, until a deadline. The condition may have any clock. Returns 0
 * or ETIMEDOUT. After 0 the caller checks whether what it waits for has happened
 * (pthread_cond_clockwait(3)). */
int tokenkeep_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline);

/* Locks a mutex. Waits at most timeout_ms by the monotonic clock, and only while is_cancelled, unless
 * NULL, returns 0. 0, ETIMEDOUT or another errno. */
int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms, tokenkeep_is_cancelled is_cancelled,
                         const void *data);

/* The events to report for a path, whose last component may be a symbolic link. Every watch reports that the
 * path was moved or removed; the removal of a directory only when no process has it open any more.
 *
 * FILE: changed times and names of a file or link. DIRECTORY: no more events. CONTENT: writes to the files of
 * a directory, and new ones. */
#define TOKENKEEP_WATCH_FILE      0
#define TOKENKEEP_WATCH_DIRECTORY 1
#define TOKENKEEP_WATCH_CONTENT   2
#define TOKENKEEP_WATCH_KIND      7
/* Flags to combine with DIRECTORY: report new entries; report removed and replaced entries. */
#define TOKENKEEP_WATCH_ENTRIES  8
#define TOKENKEEP_WATCH_REMOVALS 16
/* Replaces the events of a watched path. Without it, events are added. */
#define TOKENKEEP_WATCH_EXACT 32

/* A file was touched, or an entry made; a path was moved or removed; notices were lost. */
#define TOKENKEEP_NOTICE_WRITTEN  0
#define TOKENKEEP_NOTICE_MOVED    1
#define TOKENKEEP_NOTICE_OVERFLOW 2

typedef struct tokenkeep_notice {
    int watch;
    int kind;
} tokenkeep_notice;

/* Opens a non-blocking instance of inotify(7). -1 and errno on failure. */
int tokenkeep_notifier_open(void);

/* Watches a path and returns the watch, a number that the same file keeps under any path. -1 and errno on
 * failure. */
int tokenkeep_notifier_add(int notifier, const char *path, int what);
void tokenkeep_notifier_remove(int notifier, int watch);

/* The maximum number of notices that one read returns. */
#define TOKENKEEP_NOTICES 256

/* Reads the next notices and returns their number; 0 if there are none. notices needs room for at least
 * TOKENKEEP_NOTICES. */
size_t tokenkeep_notifier_read(int notifier, tokenkeep_notice *notices, size_t capacity);

/* Opens a flag: a descriptor that is readable while the flag is raised (eventfd(2)). -1 and errno on
 * failure. */
int tokenkeep_flag_open(void);
void tokenkeep_flag_raise(int flag);
void tokenkeep_flag_lower(int flag);

/* Opens a descriptor that is readable while at least one of two given descriptors is readable (epoll(7)). -1
 * and errno on failure. */
int tokenkeep_either_open(int one, int other);
/* Makes a descriptor of tokenkeep_either_open also readable while `another` is readable. -1 and errno on
 * failure. */
int tokenkeep_either_add(int either, int another);
/* Opens a descriptor that is readable as soon as nobody reads what is written to another one. The caller
 * closes it. -1 and errno on failure: EPERM for a file, which needs no reader. */
int tokenkeep_reader_watch(int written);

/* Waits for this time, or until a signal is handled. For a caller that polls a state, until a deadline,
 * because no descriptor reports the state's changes. */
void tokenkeep_pause(uint32_t milliseconds);

/* Opens a descriptor that becomes readable after this time, including the time of a suspend
 * (timerfd_create(2), CLOCK_BOOTTIME). Owned by the caller. -1 and errno on failure. */
int tokenkeep_alarm_open(uint32_t milliseconds);

/* Opens a timer: a descriptor that becomes readable when the time set has passed (timerfd_create(2)). -1 and
 * errno on failure. */
int tokenkeep_timer_open(void);
/* Restarts the timer with this time; 0 stops the timer. Afterwards the descriptor is not readable. */
void tokenkeep_timer_set(int timer, uint32_t milliseconds);
/* Whether the timer's time has passed. Afterwards the descriptor is not readable. */
int tokenkeep_timer_has_passed(int timer);

/* Writes the path of the directory of modules that a stack calls by name, PATH_MAX bytes at most:
 * tokenkeep/modules beside the shared library or, for the program, in its installation; else the path at the
 * time of building. */
void tokenkeep_module_directory(char *path);

/* Writes the path of the directory of installed providers, PATH_MAX bytes at most: in the installation of the
 * directory of modules. */
void tokenkeep_provider_directory(char *path);

/* Writes the path of the installed agent into path, of PATH_MAX bytes, as seen from the program. 0 if there
 * is none. */
int tokenkeep_agent_program(char *path);

/* Writes the path of the installed provider of org.freedesktop.secrets into path, of PATH_MAX bytes, as seen
 * from the program. 0 if there is none. */
int tokenkeep_secret_service_program(char *path);

/* Writes the path of the installed program for the TPM into path, of PATH_MAX bytes. 0 if it does not exist.
 */
int tokenkeep_tpm2_program(char *path);

/* A standard stream of a program to start: one of these, or a descriptor above 2. */
#define TOKENKEEP_INHERITED 0
#define TOKENKEEP_NOTHING   (-1) /* /dev/null */
#define TOKENKEEP_PIPE      (-2) /* a pipe, whose other end the caller gets; not for standard error */

/* How a program is started. The program has no blocked signal. Zero in all fields: it is the first argument's
 * file, with the caller's standard streams, directory, process group and inherited descriptors, and with the
 * default action for each signal. */
typedef struct tokenkeep_start_options {
    int searches_path; /* whether the PATH is searched for the program, as execvp(3) does */
    int input, output, errors;
    int keeps_input_reader; /* whether the caller also keeps the end of the pipe from which the program reads
                             */
    int has_own_group;
    int has_own_session;
    int is_apart; /* in the directory /, without descriptors but its streams and death pipe, 63 */
    int keeps_ignored_signals; /* except SIGPIPE and SIGCHLD */
    int death_signal;          /* which the program gets when the starting thread ends; 0 for none */
    int ties_group;            /* whether its own group is killed when this process ends, by the death pipe */
    const struct rlimit *descriptor_limit; /* NULL for the caller's */
} tokenkeep_start_options;

/* A started program, and this process's descriptors for it; -1 for each that there is not. */
typedef struct tokenkeep_program {
    pid_t process;
    int end;          /* becomes readable when the program ends (pidfd_open(2)) */
    int input;        /* writes to its standard input; non-blocking */
    int output;       /* reads its standard output; non-blocking */
    int input_reader; /* the end of `input` from which the program reads */
    int death_pipe, death_pipe_end;
} tokenkeep_program;

/* Starts a program. NULL as the environment: the caller's. 0 or an errno, also if the program cannot be
 * executed. The caller must wait for the program's end. */
int tokenkeep_program_start(char *const arguments[], char *const environment[],
                            const tokenkeep_start_options *options, tokenkeep_program *program);

/* Closes the descriptors of a program. Other processes of its group may live on after its end. */
void tokenkeep_program_let_go(const tokenkeep_program *program);

/* Whether a program has ended, without a wait for it: its process and group numbers stay its own. Also 1 if
 * other code has waited for its end. */
int tokenkeep_program_has_ended(pid_t process);

/* Kills a program with its group, unless other code has waited for its end. */
void tokenkeep_program_kill(pid_t process);

/* How the end of a request and of a reply is marked on a socket. */
typedef enum tokenkeep_framing {
    TOKENKEEP_MESSAGE,    /* one message of SOCK_SEQPACKET */
    TOKENKEEP_TEXT_TO_NUL /* the bytes up to a NUL, of SOCK_STREAM: varlink */
} tokenkeep_framing;

/* Sends a request to the program of a user that listens on a socket, and receives its reply of at most
 * capacity bytes. With the framing of a text, request and reply end with a NUL: capacity includes the reply's
 * NUL, which is not part of the returned reply. Returns 0, or an errno: ENOENT if no program listens, EPERM
 * if another user's program listens, ETIMEDOUT if the reply is not complete within timeout_ms, EPROTO if the
 * connection ends before that. For a longer reply: EMSGSIZE for a text, EPROTO for a message. */
int tokenkeep_socket_ask(const char *path, uid_t user, tokenkeep_framing framing, const void *request,
                         size_t length, uint32_t timeout_ms, uint8_t *reply, size_t capacity,
                         size_t *reply_length);

/* Makes a key in the user's keyring of the kernel (keyrings(7)), for all processes of the real user and no
 * other user. The key expires after timeout_s seconds; 0 for no expiry. A key of the same description is
 * replaced. 0 or an errno. */
int tokenkeep_keyring_publish(const char *description, const void *payload, size_t length,
                              uint32_t timeout_s);

/* Reads a key of at most capacity bytes. A key of 4 bytes is the serial number of the agent's key, which is
 * read instead; is_held is then 1. 0, or an errno: EMSGSIZE if the key is longer, ENOKEY if the user made no
 * such key. */
int tokenkeep_keyring_read(const char *description, void *payload, size_t capacity, size_t *length,
                           int *is_held);

/* Calls body with the description of each key that the user made and that begins with prefix. 0, or an
 * errno if the keyring cannot be read. */
int tokenkeep_keyring_each(const char *prefix, void (*body)(const char *description, void *data), void *data);

/* Purges the keys of the user's keyring with this description, and the agent's keys to which they point. The
 * other keys of the keyring are not read. 0, also if there is no such key, or an errno. */
int tokenkeep_keyring_remove(const char *description);

/* Purges every key of the user's keyring whose description begins with prefix but is not kept (may be NULL),
 * and the agent's keys to which they point. 0, or the first errno. was_read is 0 if the keyring itself could
 * not be read. */
int tokenkeep_keyring_purge(const char *prefix, const char *kept, int *was_read);

/* Writes the path of the directory of the agent's socket, of at most size bytes with its end: in
 * XDG_RUNTIME_DIR, or in the user's directory below /run/user. 0 if the path is too long. */
int tokenkeep_agent_folder(char *path, size_t size);

/* Sends a request to the user's agent (docs/screen-lock.md) and receives its reply of at most capacity bytes.
 * 0, or an errno: ENOENT if no agent of this user listens, ETIMEDOUT if there is no reply within timeout_ms,
 * EPROTO if there is none at all or it is longer. */
int tokenkeep_agent_ask(const void *request, size_t length, uint32_t timeout_ms, uint8_t *reply,
                        size_t capacity, size_t *reply_length);

/* Copies the payload into a new memory file that can no longer be changed, and that its owner alone may open.
 * The descriptor is inherited by programs that this process executes. 0 or an errno. */
int tokenkeep_sealed_memory_make(const void *payload, size_t length, int *descriptor);

/* Reads the payload of a file that tokenkeep_sealed_memory_make made; at most capacity bytes. Returns 0, or
 * an errno: EINVAL if the descriptor is no sealed memory file, EPERM if the file belongs to another user,
 * EMSGSIZE if it is empty or longer than capacity. */
int tokenkeep_sealed_memory_read(int descriptor, void *payload, size_t capacity, size_t *length);

/* The length of a derivation's result, and the longest password and salt, in bytes. */
#define TOKENKEEP_DERIVED_LENGTH   64
#define TOKENKEEP_LONGEST_PASSWORD 4096
#define TOKENKEEP_LONGEST_SALT     64

/* Argon2id (RFC 9106), version 1.3, one lane. */
typedef struct tokenkeep_derivation {
    const void *password;
    size_t password_length;
    const void *salt;
    size_t salt_length;
    uint32_t passes;
    uint32_t memory_kib;
} tokenkeep_derivation;

/* Derives TOKENKEEP_DERIVED_LENGTH bytes on a new thread. Core dumps leave out its stack, its copy of the
 * password and Argon2's blocks.
 *
 * Waits at most timeout_ms, and only while is_cancelled, unless NULL, returns 0. A thread that is not done
 * by then is abandoned: it ends by itself and wipes the result. While four abandoned threads run, no
 * derivation starts.
 *
 * 0; ETIMEDOUT if the wait ended before; ENOMEM; EAGAIN if the kernel refuses a thread; EINVAL for costs
 * or lengths outside the limits. */
int tokenkeep_derive(const tokenkeep_derivation *derivation, uint32_t timeout_ms,
                     tokenkeep_is_cancelled is_cancelled, const void *data, void *derived);

/* The number of abandoned derivations that still run. */
int tokenkeep_abandoned_derivations(void);

/* Waits until one of two descriptors is readable, milliseconds at most, by a clock that runs on while the
 * machine is suspended. Either may be -1. 0, or errno. */
int tokenkeep_wait_readable(int one, int other, uint32_t milliseconds);

/* syncfs(2), which Glibc does not declare to Swift. */
int tokenkeep_syncfs(int descriptor);

/* Makes a file without a name in a directory, with length bytes of the disk. Returns its descriptor, to be
 * closed by the caller, or -1 and errno. */
int tokenkeep_reserve_space(int directory, off_t length);

/* Whether the process is in a user namespace. Such a namespace has its own keyrings, which end with it.
 * Without /proc, a namespace that maps every number is not recognised. */
int tokenkeep_is_in_user_namespace(void);

/* The arguments of this process, the program's name first, ended by NULL. Does not need /proc. */
char *const *tokenkeep_process_arguments(void);

/* Enters the library for one call of the C API, and returns 1. Returns 0 in a child of fork() if another
 * thread was inside a call at the fork. Such a child must run no Swift code that instantiates a type, because
 * the Swift runtime's lock may stay locked for ever.
 *
 * * While a thread is inside, fork() in another thread waits, 100 ms at most. Calls of one thread may
 * nest. */
int tokenkeep_call_enter(void);

/* Leaves the library, once for each tokenkeep_call_enter that returned 1 and for each tokenkeep_call_resume.
 */
void tokenkeep_call_leave(void);

/* Whether this thread is inside a call. */
int tokenkeep_call_is_inside(void);

/* Enters the library again. Called after a function of the caller, before which the call had left the
 * library. */
void tokenkeep_call_resume(void);

/* Stores the error object that tokenkeep_call_refusal returns. */
void tokenkeep_call_set_refusal(void *error);

/* The error object of a refused call; NULL if no call has made the object yet. */
void *tokenkeep_call_refusal(void);

/* The handlers of fork() for a mutex outside this target. */
typedef struct tokenkeep_fork_handlers {
    void (*before)(void);
    void (*after_in_parent)(void);
    void (*after_in_child)(void);
} tokenkeep_fork_handlers;

/* Makes fork() call the handlers of the secrets' pool. Called once. */
void tokenkeep_fork_set_pool_handlers(const tokenkeep_fork_handlers *handlers);

/* Stands in for the function of Swift's standard library behind Unicode.Scalar.Properties.name in programs
that do not call it: the linker then drops the names of all characters, half a megabyte. Returns 0: no name.
*/
intptr_t tokenkeep_no_scalar_name(uint32_t scalar, uint8_t *buffer, intptr_t capacity);

/* Gives the system the memory back that the start of the program needed: pages of its file and of its
 * libraries' files, which come back from the files if they are used, and free memory of malloc. For programs
 * that then wait for long. Breakpoints of a debugger in these pages are lost. */
void tokenkeep_give_back_memory(void);

#endif

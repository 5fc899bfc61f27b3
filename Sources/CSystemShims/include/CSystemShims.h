/* What Swift's Glibc lacks or cannot call. */
#ifndef TOKENKEEP_SYSTEM_SHIMS_H
#define TOKENKEEP_SYSTEM_SHIMS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Non-zero where the kernel runs this program with raised privileges (AT_SECURE of getauxval(3)). */
int tokenkeep_is_secure_execution(void);

/* openat(2) with a mode: variadic functions are not importable. Retries EINTR. -1 and errno on failure. */
int tokenkeep_openat(int directory, const char *path, int flags, mode_t mode);

/* fstat and fstatat of an open file description, without Swift's choice between the type and the function. */
int tokenkeep_fstat(int descriptor, struct stat *status);
int tokenkeep_fstatat(int directory, const char *path, struct stat *status, int flags);

/* The user at the other end of a connected unix socket, as it was when that end began to listen. 0, or -1 for
 * any other descriptor, and if the kernel does not know the user. */
int tokenkeep_socket_peer(int socket, uid_t *user);

/* Whether whoever waits should give up; asked now and then, on the thread that waits. */
typedef int (*tokenkeep_is_cancelled)(const void *data);

/* How long a wait lasts at most before that is asked again. */
#define TOKENKEEP_CANCELLATION_GLANCE_MS 10

/*
 * Takes a write lock of the open file description (F_OFD_SETLK) on length bytes at offset of the file path in
 * directory, which is made if it is missing; length 0 is the whole file. Waits at most timeout_ms, and no
 * longer than is_cancelled, unless it is NULL, says no. Returns 0 and the locked descriptor, EBUSY where the
 * wait ended before, EBADFD if path is no regular file, or another errno.
 *
 * Each lock has a descriptor of its own: two threads that shared one would both succeed. The file is looked
 * up again after locking, so that a lock on a removed file is not taken for one on its successor. In a child
 * made by fork() the descriptors are closed: it would keep the lock of a parent that dies.
 */
int tokenkeep_lock_acquire(int directory, const char *path, off_t offset, off_t length, uint32_t timeout_ms,
                           tokenkeep_is_cancelled is_cancelled, const void *data, int *descriptor);

/* The same without waiting, on the file that is there now: EBUSY where another holds it. */
int tokenkeep_lock_try(int directory, const char *path, off_t offset, off_t length, int *descriptor);

/* Releases what tokenkeep_lock_acquire or tokenkeep_lock_try returned. */
void tokenkeep_lock_release(int descriptor);

/* A new descriptor that becomes readable when one of the signals, which the caller has blocked, is pending
 * (signalfd(2)). -1 and errno on failure. */
int tokenkeep_signal_descriptor(const sigset_t *signals);

/* The number of the next signal of such a descriptor; 0 where there is none. Does not wait. */
int tokenkeep_next_signal(int descriptor);

/* How many columns of a terminal a Unicode scalar takes: 0, 1 or 2 (wcwidth(3) in a UTF-8 locale). */
int tokenkeep_display_width(uint32_t scalar);

/* Locks a mutex, waiting at most timeout_ms by the monotonic clock, and no longer than is_cancelled, unless
 * it is NULL, says no. 0, or ETIMEDOUT or another errno. */
int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms, tokenkeep_is_cancelled is_cancelled,
                         const void *data);

/* What to tell of a path, besides that it was moved or removed: that a file was written to; nothing more of a
 * directory; what is made in a directory or moved into it; or that no more, of one that was watched for it.
 */
#define TOKENKEEP_WATCH_FILE       0
#define TOKENKEEP_WATCH_DIRECTORY  1
#define TOKENKEEP_WATCH_ENTRIES    2
#define TOKENKEEP_WATCH_NO_ENTRIES 3

/* A file was written to; a path was made, moved or removed; notices were lost. */
#define TOKENKEEP_NOTICE_WRITTEN  0
#define TOKENKEEP_NOTICE_MOVED    1
#define TOKENKEEP_NOTICE_OVERFLOW 2

typedef struct tokenkeep_notice {
    int watch;
    int kind;
} tokenkeep_notice;

/* An instance of inotify(7), which does not wait. -1 and errno on failure. */
int tokenkeep_notifier_open(void);

/* Watches a path; of one that is watched already, for this too, or for this alone: NO_ENTRIES. The watch, or
 * -1 and errno. */
int tokenkeep_notifier_add(int notifier, const char *path, int what);
void tokenkeep_notifier_remove(int notifier, int watch);

/* How many notices one read may give. */
#define TOKENKEEP_NOTICES 256

/* The next notices, into room for at least TOKENKEEP_NOTICES; 0 where there are none. */
size_t tokenkeep_notifier_read(int notifier, tokenkeep_notice *notices, size_t capacity);

/* A descriptor that is readable while it is raised (eventfd(2)). -1 and errno on failure. */
int tokenkeep_flag_open(void);
void tokenkeep_flag_raise(int flag);
void tokenkeep_flag_lower(int flag);

/* A descriptor that is readable while one of two others is (epoll(7)). -1 and errno on failure. */
int tokenkeep_either_open(int one, int other);

/* Where modules lie that a stack calls by their names. */
const char *tokenkeep_module_directory(void);

/* A program that was started, and our ends of its standard input and output, which do not wait. */
typedef struct tokenkeep_program {
    pid_t process;
    int input;
    int output;
    int death_pipe;
    int death_pipe_end;
} tokenkeep_program;

/* Starts a program in a process group of its own, in the directory /, with no signal blocked and no other
 * descriptor but 63, its death_pipe; what it writes to standard error is dropped unless shows_errors. 0 or an
 * errno.
 *
 * It is killed when the thread that started it ends, and its whole group when this process does. */
int tokenkeep_program_start(const char *path, char *const environment[], int shows_errors,
                            tokenkeep_program *program);

/* Closes the death_pipe after its end: what is left of its group may live on. */
void tokenkeep_program_let_go(const tokenkeep_program *program);

/* Waits for its end. 0 and its status, ETIMEDOUT, or ECHILD where somebody else waited for it. */
int tokenkeep_program_wait(pid_t process, uint32_t timeout_ms, int *status);

/* Kills it with its group and takes note of its end. Does nothing where it has ended and that was noted. */
void tokenkeep_program_kill(pid_t process);

/* Makes a key of the user's keyring in the kernel (keyrings(7)), for all processes of the real user and no
 * other, that ends after timeout_s seconds unless that is 0. One of the same description is replaced. 0 or an
 * errno. */
int tokenkeep_keyring_publish(const char *description, const void *payload, size_t length,
                              uint32_t timeout_s);

/* Reads a key of at most capacity bytes. 0, or errno: EMSGSIZE if it is longer, ENOKEY if there is none that
 * the user made. */
int tokenkeep_keyring_read(const char *description, void *payload, size_t capacity, size_t *length);

/* Calls body with the description of each key of the user's that begins so. 0, or errno if the keyring cannot
 * be read. */
int tokenkeep_keyring_each(const char *prefix, void (*body)(const char *description, void *data), void *data);

/* Ends every key of the user's keyring whose description begins so. 0, or the first errno; was_read is 0
 * where the keyring itself could not be read. */
int tokenkeep_keyring_purge(const char *prefix, int *was_read);

/* The bytes that a derivation gives, and the longest password and salt that it takes. */
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

/* Derives TOKENKEEP_DERIVED_LENGTH bytes on a thread of its own. Its stack, its copy of the password and
 * Argon2's blocks are in no core dump. Waits at most timeout_ms, and no longer than is_cancelled, unless it
 * is NULL, says no; then the thread is abandoned: it ends by itself and wipes the result. While four
 * abandoned threads run, no derivation starts.
 *
 * 0; ETIMEDOUT if the wait ended before; ENOMEM; EAGAIN if the kernel refuses a thread; EINVAL for costs or
 * lengths outside the limits. */
int tokenkeep_derive(const tokenkeep_derivation *derivation, uint32_t timeout_ms,
                     tokenkeep_is_cancelled is_cancelled, const void *data, void *derived);

/* How many abandoned derivations still run. */
int tokenkeep_abandoned_derivations(void);

/* syncfs(2), which Glibc does not declare to Swift. */
int tokenkeep_syncfs(int descriptor);

/* Whether the process is in a user namespace, whose keyrings are its own and end with it. */
int tokenkeep_is_in_user_namespace(void);

#endif

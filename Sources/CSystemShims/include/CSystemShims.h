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

/* Whether whoever waits should give up; asked now and then, on the thread that waits. */
typedef int (*tokenkeep_is_cancelled)(const void *data);

/* How long a wait lasts at most before that is asked again. */
#define TOKENKEEP_CANCELLATION_GLANCE_MS 10

/*
 * Takes a write lock of the open file description (F_OFD_SETLK) on length bytes at offset of the file path in
 * directory, which is made if it is missing; length 0 is the whole file. Waits at most timeout_ms, and no
 * longer than is_cancelled, unless it is NULL, says no. Returns 0 and the locked descriptor, EBUSY where the
 * wait ended before, or another errno.
 *
 * Each lock has a descriptor of its own: two threads that shared one would both succeed. The file is looked
 * up again after locking, so that a lock on a removed file is not taken for one on its successor. In a child
 * made by fork() the descriptors are closed: it would keep the lock of a parent that dies.
 */
int tokenkeep_lock_acquire(int directory, const char *path, off_t offset, off_t length, uint32_t timeout_ms,
                           tokenkeep_is_cancelled is_cancelled, const void *data, int *descriptor);

/* Releases what tokenkeep_lock_acquire returned. */
void tokenkeep_lock_release(int descriptor);

/* A new descriptor that becomes readable when one of the signals, which the caller has blocked, is pending
 * (signalfd(2)). -1 and errno on failure. */
int tokenkeep_signal_descriptor(const sigset_t *signals);

/* The number of the next signal of such a descriptor; 0 where there is none. Does not wait. */
int tokenkeep_next_signal(int descriptor);

/* How many columns of a terminal a Unicode scalar takes: 0, 1 or 2 (wcwidth(3) in a UTF-8 locale). */
int tokenkeep_display_width(uint32_t scalar);

/* Maps the 64-bit counter that the file path in directory holds, shared with all processes; the file is made
 * if it is missing. 0 and the counter, or an errno: EINVAL where the file is no such counter. */
int tokenkeep_counter_map(int directory, const char *path, uint64_t **counter);
void tokenkeep_counter_unmap(uint64_t *counter);
void tokenkeep_counter_advance(uint64_t *counter);

/* Locks a mutex, waiting at most timeout_ms by the monotonic clock, and no longer than is_cancelled, unless
 * it is NULL, says no. 0, or ETIMEDOUT or another errno. */
int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms, tokenkeep_is_cancelled is_cancelled,
                         const void *data);

/* What to tell of a path, besides that it was moved or removed: that a file was written to; nothing more of a
 * directory; or what is made in a directory or moved into it. */
#define TOKENKEEP_WATCH_FILE      0
#define TOKENKEEP_WATCH_DIRECTORY 1
#define TOKENKEEP_WATCH_ENTRIES   2

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

/* Watches a path; of one that is watched already, for this too. The watch, or -1 and errno. */
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

#endif

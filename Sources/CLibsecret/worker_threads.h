#ifndef TOKENKEEP_WORKER_THREADS_H
#define TOKENKEEP_WORKER_THREADS_H

#include "descriptor_reserve.h"

/* Starts GLib's threads "gmain" and "gdbus", which serve all D-Bus connections of the process, unless they
 * are running. Lends them descriptors of the reserve. Call on a thread that runs no code of the host, because
 * a failure leaves GLib's frames by longjmp.
 *
 * * Returns 0; EAGAIN if the kernel refuses the threads; EMFILE; ENOTRECOVERABLE if GLib itself failed to
 * start one of the threads. GLib then waits for that thread for ever, so the process must not use D-Bus any
 * more. */
int tokenkeep_worker_threads_start(descriptor_reserve *reserve);

#endif

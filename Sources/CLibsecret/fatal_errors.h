#ifndef TOKENKEEP_FATAL_ERRORS_H
#define TOKENKEEP_FATAL_ERRORS_H

/* Runs a function and leaves it by longjmp if GLib logs an error on this thread, after which GLib aborts the
 * process. What the function holds then is lost: locks stay locked, memory and descriptors are not freed.
 * Call it on a thread that runs no code of the host, and that ends soon: GLib takes its later errors for
 * nested ones.
 *
 * 0; if the function was left, the errno before GLib's error, or ECANCELED if there was none. */
int fatal_errors_leave(void (*function)(void *), void *argument);

#endif

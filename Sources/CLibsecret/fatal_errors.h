#ifndef TOKENKEEP_FATAL_ERRORS_H
#define TOKENKEEP_FATAL_ERRORS_H

/* Runs a function. If GLib logs a fatal error on this thread, leaves the function by longjmp, because GLib
 * would otherwise abort the process. The function's locks then stay locked, and its memory and descriptors
 * are not freed. Call on a thread that runs no code of the host and ends soon, because GLib treats later
 * errors on the thread as nested errors.
 *
 * * Returns 0; if the function was left, the errno before GLib's error, or ECANCELED if errno was 0. */
int fatal_errors_leave(void (*function)(void *), void *argument);

#endif

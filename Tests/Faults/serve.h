/* The probe as a server: it does what its standard input says, one line each, for as long as that lasts. */
#ifndef TOKENKEEP_FAULTS_SERVE_H
#define TOKENKEEP_FAULTS_SERVE_H

#include <tokenkeep.h>

/* save ACCOUNT SECRET, load ACCOUNT, clear ACCOUNT, sync: prints the status and, for a load, the secret. */
int serve(tokenkeep_store *store, const char *service);

/* Saves and loads an item in turn, COUNT times in all; prints for each: start and end in nanoseconds of the
 * monotonic clock, "save" or "load", the status, and the value. */
int crowd(tokenkeep_store *store, const char *service, const char *account, int count, const char *name);

/* Saves an item on a thread of its own, until a line comes; then cancels and prints the save's status and how
 * many milliseconds it took to end. */
int save_until_told(tokenkeep_store *store, const char *service, const char *account, const char *secret);

/* Watches; prints "ready", then "saved ACCOUNT", "cleared ACCOUNT" or "again" for each event. */
int watch_events(tokenkeep_store *store, const char *service);

#endif

/* Registers the handlers of fork() that take a mutex of this library. Each function acts once. */
#ifndef TOKENKEEP_FORK_HANDLERS_H
#define TOKENKEEP_FORK_HANDLERS_H

void tokenkeep_register_lock_handlers(void);
void tokenkeep_register_derivation_handlers(void);

#endif

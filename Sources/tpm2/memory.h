/* Protection of the memory of the process. */
#ifndef TOKENKEEP_TPM2_MEMORY_H
#define TOKENKEEP_TPM2_MEMORY_H

/* Keeps the memory out of core dumps, from other programs of the user, and out of swap if the limit for
 * locked memory allows. Makes malloc overwrite freed memory. */
void memory_protect(void);

#endif

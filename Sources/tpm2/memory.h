/* Protection of the memory of the process. */
#ifndef TOKENKEEP_TPM2_MEMORY_H
#define TOKENKEEP_TPM2_MEMORY_H

/* No core dumps, no other programs of the user, no swap if the limit allows it; freed memory is overwritten.
 */
void memory_protect(void);

#endif

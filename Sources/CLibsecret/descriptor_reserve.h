#ifndef TOKENKEEP_DESCRIPTOR_RESERVE_H
#define TOKENKEEP_DESCRIPTOR_RESERVE_H

/* Descriptors that are kept from other threads until a library needs them: GLib and libgcrypt end the process
 * if they get none. A thread that takes every descriptor in the microseconds between the release and the
 * library's call still ends the process. */
typedef struct {
    int count;
    int held[8];
} descriptor_reserve;

/* Fills the reserve up to `count` descriptors, at most 8. Returns 0, or EMFILE if the reserve has fewer. */
int descriptor_reserve_take(descriptor_reserve *reserve, int count);

/* Frees `count` of the reserve's descriptors for the next call of a library. */
void descriptor_reserve_lend(descriptor_reserve *reserve, int count);

/* Frees the whole reserve. */
void descriptor_reserve_release(descriptor_reserve *reserve);

#endif

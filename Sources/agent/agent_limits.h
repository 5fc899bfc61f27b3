/* Limits and time limits of the agent (docs/screen-lock.md). */
#ifndef TOKENKEEP_AGENT_LIMITS_H
#define TOKENKEEP_AGENT_LIMITS_H

#define AGENT_KEYS        16
#define AGENT_SESSIONS    32
#define AGENT_SAVERS      5
#define AGENT_CONNECTIONS 64

/* The lifetime of a published key after its last renewal, in seconds. Then the kernel ends the key. */
#define AGENT_KEY_S 180
/* The interval between two renewals, in seconds. A renewal wakes the agent twice, by its timer and by
 * login1's reply, so the agent wakes once a minute on average. */
#define AGENT_RENEWAL_S 120
/* The time, in seconds, for which a key that arrives while the screen is locked waits for the unlock of the
 * screen. Lockers check the password, which also unlocks the vault, before they report that the screen is
 * unlocked. */
#define AGENT_WAIT_S 30
/* The time without login1, in seconds, after which the screen counts as locked. */
#define AGENT_LOGIN1_S 10
/* The time limit of each call on a bus, in seconds. */
#define AGENT_CALL_S 2
/* The minimum interval, in seconds, between two starts of `tokenkeep sync` for Secret Services that
 * appear. */
#define AGENT_SYNC_S 300
/* The time, in milliseconds, after which requests are read even if the lock sources are not known yet. It is
 * shorter than the 500 ms for which clients wait. */
#define AGENT_START_MS 300

#define SECOND_US 1000000ULL

#endif

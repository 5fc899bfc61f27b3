/* Numbers of the agent (docs/screen-lock.md). */
#ifndef TOKENKEEP_AGENT_LIMITS_H
#define TOKENKEEP_AGENT_LIMITS_H

#define AGENT_KEYS        16
#define AGENT_SESSIONS    32
#define AGENT_SAVERS      5
#define AGENT_CONNECTIONS 64

/* The kernel ends a key this many seconds after it was last renewed. */
#define AGENT_KEY_S 180
/* A renewal wakes the agent twice, by its timer and by login1's reply: once a minute on average. */
#define AGENT_RENEWAL_S 120
/* A key that arrives while the screen is locked waits this long for the screen: lockers ask for the password
 * before they say that the screen is open. */
#define AGENT_WAIT_S 30
/* Without login1 for this long, the screen counts as locked. */
#define AGENT_LOGIN1_S 10
/* The deadline of each call on a bus. */
#define AGENT_CALL_S 2
/* `tokenkeep sync` is started at most once in this time for Secret Services that appear. */
#define AGENT_SYNC_S 300
/* Requests are read once the lock sources are known, or after this time: clients wait 500 ms. */
#define AGENT_START_MS 300

#define SECOND_US 1000000ULL

#endif

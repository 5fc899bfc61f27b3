/* Numbers of the agent (docs/screen-lock.md). The tests build the agent with shorter times. */
#ifndef TOKENKEEP_AGENT_LIMITS_H
#define TOKENKEEP_AGENT_LIMITS_H

#define AGENT_KEYS        16
#define AGENT_SESSIONS    32
#define AGENT_CONNECTIONS 64

/* The kernel ends a key this many seconds after it was last renewed. */
#ifndef AGENT_KEY_S
#define AGENT_KEY_S 180
#endif
/* A renewal wakes the agent twice, by its timer and by login1's reply: once a minute on average. */
#ifndef AGENT_RENEWAL_S
#define AGENT_RENEWAL_S 120
#endif
/* A key that arrives while the screen is locked waits this long for the screen: lockers ask for the password
 * before they say that the screen is open. */
#ifndef AGENT_WAIT_S
#define AGENT_WAIT_S 30
#endif
/* Without login1 for this long, the screen counts as locked. */
#ifndef AGENT_LOGIN1_S
#define AGENT_LOGIN1_S 10
#endif
/* The deadline of each call on a bus. */
#ifndef AGENT_CALL_S
#define AGENT_CALL_S 2
#endif
/* `tokenkeep sync` is started at most once in this time for Secret Services that appear. */
#ifndef AGENT_DRAIN_S
#define AGENT_DRAIN_S 300
#endif
/* Requests are read once the lock sources are known, or after this time: clients wait 500 ms. */
#define AGENT_START_MS 300

#define SECOND_US 1000000ULL

#endif

/* The source of requests: one request and one reply for each connection. */
#ifndef TOKENKEEP_AGENT_REQUESTS_H
#define TOKENKEEP_AGENT_REQUESTS_H

#include "facts.h"

#include <systemd/sd-event.h>

struct connection;

struct requests {
    struct facts *facts;
    sd_event *event;
    int listener;
    /* The buffer, in locked memory, for the request that is being read. */
    uint8_t *buffer;
    size_t buffer_size;
    struct connection *connections[AGENT_CONNECTIONS];
    uint64_t connection_count;
    /* The connection whose request has been read and not answered yet; NULL if there is none. */
    struct connection *asking;
    sd_event_source *source;
};

/* Bits of a reply. */
enum { REPLY_HOLDS = 1, REPLY_PUBLISHED = 2, REPLY_LOCKED = 4, REPLY_PROVED = 8 };
/* Statuses of a reply, with the numbers of tokenkeep/types.h. */
enum { REPLY_OK = 0, REPLY_IO = 14 };

/* Reads requests from now on. */
void requests_serve(struct requests *requests);

/* Whether a request waits for its reply. */
bool requests_is_asked(const struct requests *requests);

/* Replies to the request, wipes it and ends its connection. */
void requests_reply(struct requests *requests, uint32_t status, uint8_t bits, enum lock_word word);

void requests_end(struct requests *requests);

#endif

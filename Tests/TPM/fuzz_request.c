/* libFuzzer and the helper's reader of requests: what it accepts is consistent with the message, to its last
 * byte. */
#include "../../Sources/tpm2/protocol.h"

#include <stdlib.h>
#include <string.h>

/* The fields in the order of the message must fill it. */
static size_t length_of(const struct request *request) {
    size_t length = 7 + (request->name != NULL ? NAME_LENGTH : 0) +
                    (request->auth != NULL ? AUTH_LENGTH : 0) + (request->tag != NULL ? 1 + TAG_LENGTH : 0);
    if (request->operation == OPERATION_READ || request->operation == OPERATION_DESTROY ||
        request->operation == OPERATION_WRITE)
        length += 4;
    return length + request->data_length;
}

static void check(const struct request *request, const uint8_t *message, size_t length) {
    if (length_of(request) != length || request->budget_ms == 0 || request->budget_ms > BUDGET_MAX_MS)
        abort();
    if (request->data != NULL && request->data + request->data_length != message + length)
        abort();
    if (request->operation == OPERATION_SEAL && request->data_length != SECRET_LENGTH)
        abort();
    if (request->operation == OPERATION_WRITE && request->kind != KIND_ANCHOR)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    struct request request;
    /* On the heap, and no longer than the message: a byte too far is seen. */
    uint8_t *message = malloc(length == 0 ? 1 : length);
    if (message == NULL)
        return 0;
    if (length > 0)
        memcpy(message, data, length);
    if (request_read(message, length, &request))
        check(&request, message, length);
    free(message);
    return 0;
}

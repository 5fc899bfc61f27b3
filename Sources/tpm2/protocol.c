/* Requests and replies. Each byte of a request is untrusted. */
#include "protocol.h"

#include <string.h>

static const uint8_t signature[4] = {'T', 'K', 'T', '1'};

/* The part of a message that has not been read yet. */
struct rest {
    const uint8_t *bytes;
    size_t length;
};

uint32_t number_read(const uint8_t bytes[4]) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void number_write(uint8_t bytes[4], uint32_t number) {
    for (int index = 0; index < 4; index++)
        bytes[index] = (uint8_t)(number >> (24 - 8 * index));
}

/* The next bytes of the message. NULL if fewer bytes are left; then every later call returns NULL, too. */
static const uint8_t *take(struct rest *rest, size_t length) {
    if (rest->bytes == NULL || rest->length < length) {
        rest->bytes = NULL;
        rest->length = 0;
        return NULL;
    }
    const uint8_t *taken = rest->bytes;
    rest->bytes += length;
    rest->length -= length;
    return taken;
}

static bool take_rest(struct rest *rest, size_t least, size_t most, struct request *request) {
    request->data_length = rest->length;
    request->data = take(rest, rest->length);
    return request->data != NULL && request->data_length >= least && request->data_length <= most;
}

static bool take_name(struct rest *rest, struct request *request) {
    request->name = take(rest, NAME_LENGTH);
    /* A name begins with its hash algorithm: TPM2_ALG_SHA256. */
    return request->name != NULL && request->name[0] == 0x00 && request->name[1] == 0x0b;
}

/* Reads an authValue. Refuses zeros: a TPM treats them as the empty authValue, which protects nothing. */
static bool take_auth(struct rest *rest, struct request *request) {
    static const uint8_t zeros[AUTH_LENGTH];
    request->auth = take(rest, AUTH_LENGTH);
    return request->auth != NULL && memcmp(request->auth, zeros, AUTH_LENGTH) != 0;
}

static bool take_tag(struct rest *rest, struct request *request) {
    const uint8_t *kind = take(rest, 1);
    request->tag = take(rest, TAG_LENGTH);
    if (request->tag == NULL || (*kind != KIND_DEVICE_BYTES && *kind != KIND_ANCHOR))
        return false;
    request->kind = *kind;
    return true;
}

static bool take_index(struct rest *rest, struct request *request) {
    const uint8_t *index = take(rest, 4);
    if (index != NULL)
        request->index = number_read(index);
    return index != NULL;
}

static bool take_data(struct rest *rest, struct request *request) {
    return request->kind == KIND_DEVICE_BYTES ? take_rest(rest, SECRET_LENGTH, SECRET_LENGTH, request)
                                              : take_rest(rest, 1, ANCHOR_MAX, request);
}

static bool take_fields(struct rest *rest, struct request *request) {
    switch (request->operation) {
    case OPERATION_INFO:
        return rest->length == 0 || take_name(rest, request);
    case OPERATION_LIST:
        return true;
    case OPERATION_SEAL:
        return take_name(rest, request) && take_auth(rest, request) &&
               take_rest(rest, SECRET_LENGTH, SECRET_LENGTH, request);
    case OPERATION_UNSEAL:
        return take_name(rest, request) && take_auth(rest, request) && take_rest(rest, 1, BLOB_MAX, request);
    case OPERATION_MAKE:
        return take_name(rest, request) && take_auth(rest, request) && take_tag(rest, request) &&
               take_data(rest, request);
    case OPERATION_READ:
        return take_name(rest, request) && take_auth(rest, request) && take_tag(rest, request) &&
               take_index(rest, request);
    case OPERATION_DESTROY:
        return take_name(rest, request) && take_tag(rest, request) && take_index(rest, request);
    case OPERATION_WRITE:
        return take_name(rest, request) && take_auth(rest, request) && take_tag(rest, request) &&
               request->kind == KIND_ANCHOR && take_index(rest, request) && take_data(rest, request);
    }
    return false;
}

bool request_read(const uint8_t *message, size_t length, struct request *request) {
    struct rest rest = {message, length};
    memset(request, 0, sizeof *request);
    if (length > MESSAGE_MAX)
        return false;
    const uint8_t *begin = take(&rest, sizeof signature);
    const uint8_t *operation = take(&rest, 1);
    const uint8_t *budget = take(&rest, 2);
    if (budget == NULL || memcmp(begin, signature, sizeof signature) != 0)
        return false;
    request->operation = *operation;
    request->budget_ms = (uint16_t)(budget[0] << 8 | budget[1]);
    return request->budget_ms > 0 && request->budget_ms <= BUDGET_MAX_MS && take_fields(&rest, request) &&
           rest.length == 0;
}

static enum status status_of(enum reason reason) {
    switch (reason) {
    case REASON_NONE:
        return STATUS_OK;
    case REASON_SILENT:
        return STATUS_TIMED_OUT;
    case REASON_AUTH:
    case REASON_UID:
        return STATUS_DENIED;
    case REASON_BLOB:
        return STATUS_CORRUPT;
    case REASON_ALTERED:
        return STATUS_IO;
    case REASON_NO_INDEX:
        return STATUS_NOT_FOUND;
    case REASON_LIMIT:
        return STATUS_BUSY;
    case REASON_REQUEST:
        return STATUS_INVALID;
    case REASON_ABSENT:
    case REASON_BUSY:
    case REASON_OWNER_PASSWORD:
    case REASON_OTHER:
    case REASON_NO_SPACE:
    case REASON_LOCKOUT:
    case REASON_REFUSED:
    case REASON_FAILED:
        break;
    }
    return STATUS_UNAVAILABLE;
}

void reply_begin(struct reply *reply, enum reason reason, uint32_t code) {
    memcpy(reply->bytes, signature, sizeof signature);
    number_write(reply->bytes + 4, status_of(reason));
    reply->bytes[8] = (uint8_t)reason;
    number_write(reply->bytes + 9, code);
    reply->length = REPLY_HEAD;
}

bool reply_add(struct reply *reply, const void *bytes, size_t length) {
    if (length > sizeof reply->bytes - reply->length)
        return false;
    memcpy(reply->bytes + reply->length, bytes, length);
    reply->length += length;
    return true;
}

bool reply_add_number(struct reply *reply, uint32_t number) {
    uint8_t bytes[4];
    number_write(bytes, number);
    return reply_add(reply, bytes, sizeof bytes);
}

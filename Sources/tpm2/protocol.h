/* Requests and replies, byte by byte (docs/device-helper.md). Uses nothing of tss2, so that the fuzzer links
 * only this part of the program. */
#ifndef TOKENKEEP_TPM2_PROTOCOL_H
#define TOKENKEEP_TPM2_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAX   2048
#define NAME_LENGTH   34
#define AUTH_LENGTH   32
#define SECRET_LENGTH 32
#define TAG_LENGTH    16
#define BLOB_MAX      1024
#define ANCHOR_MAX    256
#define MAKER_MAX     32
#define BUDGET_MAX_MS 10000
#define REPLY_HEAD    13

enum operation {
    OPERATION_INFO = 1,
    OPERATION_SEAL = 2,
    OPERATION_UNSEAL = 3,
    OPERATION_MAKE = 4,
    OPERATION_READ = 5,
    OPERATION_DESTROY = 6,
    OPERATION_WRITE = 7,
    OPERATION_LIST = 8,
};

/* The kind of an NV index: device bytes are written once; the vault's anchor is written again and again. */
/* No request names KIND_RESERVE. */
enum kind { KIND_DEVICE_BYTES = 1, KIND_ANCHOR = 2, KIND_RESERVE = 3 };

/* Statuses of replies, with the numbers of tokenkeep/types.h. */
enum status {
    STATUS_OK = 0,
    STATUS_NOT_FOUND = 1,
    STATUS_UNAVAILABLE = 3,
    STATUS_TIMED_OUT = 4,
    STATUS_DENIED = 6,
    STATUS_CORRUPT = 11,
    STATUS_INVALID = 12,
    STATUS_IO = 14,
    STATUS_BUSY = 15,
};

enum reason {
    REASON_NONE = 0,
    REASON_ABSENT = 1,
    REASON_SILENT = 2,
    REASON_BUSY = 3,
    REASON_OWNER_PASSWORD = 4,
    REASON_OTHER = 5,
    REASON_AUTH = 6,
    REASON_UID = 7,
    REASON_BLOB = 8,
    REASON_ALTERED = 9,
    REASON_NO_INDEX = 10,
    REASON_NO_SPACE = 11,
    REASON_LIMIT = 12,
    REASON_REQUEST = 13,
    REASON_LOCKOUT = 14,
    REASON_REFUSED = 15,
    REASON_FAILED = 16,
};

/* A request that request_read accepted. Its pointers point into the message; a field that the operation does
 * not have is NULL. */
struct request {
    enum operation operation;
    uint16_t budget_ms;
    const uint8_t *name, *auth, *tag;
    enum kind kind;
    uint32_t index;
    /* Of SEAL the secret, of UNSEAL the blob, of MAKE and WRITE the data of the index. */
    const uint8_t *data;
    size_t data_length;
};

/* Reads a request from a message of any length and content. False if the message is no request, or has bytes
 * after the request. */
bool request_read(const uint8_t *message, size_t length, struct request *request);

struct reply {
    uint8_t bytes[MESSAGE_MAX];
    size_t length;
};

/* Begins a reply with the reason and the reason's status. `code`: the response code of the TPM or of tss2;
 * 0 for none. */
void reply_begin(struct reply *reply, enum reason reason, uint32_t code);
/* Appends bytes to the payload. False if the reply would become too long; then nothing is appended. */
bool reply_add(struct reply *reply, const void *bytes, size_t length);
bool reply_add_number(struct reply *reply, uint32_t number);

uint32_t number_read(const uint8_t bytes[4]);
void number_write(uint8_t bytes[4], uint32_t number);

#endif

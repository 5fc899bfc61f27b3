#include "indices.h"

#include "owner.h"

#include <string.h>

/* The first of the 2^22 NV indices that the TCG gives to the owner of the machine. */
#define FIRST_INDEX    0x01800000u
#define INDICES_OF_UID 4
/* The limit for a user with all his subordinate uids, so that room is left for other users. */
#define INDICES_OF_OWNER 8
/* The divisor of a uid: uids with the same remainder share their four index numbers. No uid has the last four
 * numbers of the range. */
#define UIDS    0xFFFFFu
#define RESERVE (FIRST_INDEX + UIDS * INDICES_OF_UID)
/* The owner of the reserved indices, which have no data and keep room in the TPM. They are undefined to make
 * room for root and for owners who have one or two indices already; the last two only for root. */
#define RESERVE_UID       ((uid_t)-1)
#define RESERVED_INDICES  4
#define RESERVED_FOR_ROOT 2
/* With more indices an owner needs no room of the reserve: a vault has two, and a third one while its keys
 * change. */
#define INDICES_OF_VAULT 3
#define ATTRIBUTES_MASK  (~(TPMA_NV_WRITTEN | TPMA_NV_WRITELOCKED))

enum { STATE_WRITTEN = 1, STATE_LOCKED = 2 };

/* An NV index and its public area, as the TPM reports them; `handle` is ESYS_TR_NONE if the index is not
 * defined. */
struct index {
    ESYS_TR handle;
    TPM2B_NV_PUBLIC public;
};

static TPM2_HANDLE number_of(uid_t uid, unsigned place) {
    return FIRST_INDEX + (uid % UIDS) * INDICES_OF_UID + place;
}

static bool is_in_range(uint32_t number, uid_t uid) {
    return number >= number_of(uid, 0) && number <= number_of(uid, INDICES_OF_UID - 1);
}

/* Writes the uid that owns an index into the policy of the index. No command uses this policy, and nothing
 * can satisfy it. The index's number does not tell the uid: two uids may have the same numbers, and other
 * programs may use these numbers. */
static void write_owner(TPM2B_DIGEST *policy, enum kind kind, uid_t uid, const uint8_t *tag) {
    static const uint8_t signature[4] = {'T', 'K', 'N', 'V'};
    *policy = (TPM2B_DIGEST){.size = TPM2_SHA256_DIGEST_SIZE};
    memcpy(policy->buffer, signature, sizeof signature);
    policy->buffer[4] = (uint8_t)kind;
    number_write(policy->buffer + 8, uid);
    memcpy(policy->buffer + 12, tag, TAG_LENGTH);
}

/* Reads the uid from the policy of an index. Returns false for an index of another program. */
static bool read_uid(const TPM2B_DIGEST *policy, uid_t *uid) {
    if (policy->size != TPM2_SHA256_DIGEST_SIZE || memcmp(policy->buffer, "TKNV", 4) != 0)
        return false;
    *uid = number_read(policy->buffer + 8);
    return true;
}

static TPMA_NV attributes_of(enum kind kind) {
    return TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE | TPMA_NV_NO_DA |
           (kind == KIND_DEVICE_BYTES ? TPMA_NV_WRITEDEFINE : 0);
}

/* Whether the index has that kind, uid and tag, and the attributes with which this program defines indices.
 */
static bool is_owned(const TPMS_NV_PUBLIC *public, enum kind kind, uid_t uid, const uint8_t *tag) {
    TPM2B_DIGEST expected;
    write_owner(&expected, kind, uid, tag);
    return public->nameAlg == TPM2_ALG_SHA256 && public->authPolicy.size == expected.size &&
           memcmp(public->authPolicy.buffer, expected.buffer, expected.size) == 0 &&
           (public->attributes & ATTRIBUTES_MASK) == attributes_of(kind);
}

/* Whether the index belongs to the uid, with any kind and tag, which are read from the policy. */
static bool read_owned(const TPMS_NV_PUBLIC *public, uid_t uid, enum kind *kind, const uint8_t **tag) {
    if (public->authPolicy.size != TPM2_SHA256_DIGEST_SIZE)
        return false;
    *kind = public->authPolicy.buffer[4];
    *tag = public->authPolicy.buffer + 12;
    return (*kind == KIND_DEVICE_BYTES || *kind == KIND_ANCHOR) && is_owned(public, *kind, uid, *tag);
}

static struct outcome look_up(struct device *device, TPM2_HANDLE number, struct index *index) {
    *index = (struct index){.handle = ESYS_TR_NONE};
    TSS2_RC code =
        Esys_TR_FromTPMPublic(device->esys, number, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &index->handle);
    if (outcome_plain_code(code) == TPM2_RC_HANDLE) {
        index->handle = ESYS_TR_NONE;
        return outcome_ok;
    }
    TPM2B_NV_PUBLIC *public = NULL;
    if (code == TSS2_RC_SUCCESS)
        code = Esys_NV_ReadPublic(device->esys, index->handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                  &public, NULL);
    if (code == TSS2_RC_SUCCESS)
        index->public = *public;
    Esys_Free(public);
    return outcome_of(code, REASON_REFUSED);
}

static void forget(struct device *device, struct index *index) {
    if (index->handle != ESYS_TR_NONE)
        (void)Esys_TR_Close(device->esys, &index->handle);
}

/* Looks up the index that the request names. REASON_NO_INDEX: the index is not defined, belongs to another
 * uid, or has another kind or tag. */
static struct outcome find(struct device *device, const struct request *request, uid_t uid,
                           struct index *index) {
    *index = (struct index){.handle = ESYS_TR_NONE};
    if (!is_in_range(request->index, uid))
        return outcome_for(REASON_NO_INDEX);
    struct outcome outcome = look_up(device, request->index, index);
    if (outcome.reason == REASON_NONE &&
        (index->handle == ESYS_TR_NONE ||
         !is_owned(&index->public.nvPublic, request->kind, uid, request->tag)))
        return outcome_for(REASON_NO_INDEX);
    return outcome;
}

static struct outcome undefine(struct device *device, ESYS_TR *handle) {
    struct outcome outcome = device_encrypt(device, ENCRYPT_NOTHING);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TSS2_RC code = Esys_NV_UndefineSpace(device->esys, ESYS_TR_RH_OWNER, *handle, device->session,
                                         ESYS_TR_NONE, ESYS_TR_NONE);
    if (code == TSS2_RC_SUCCESS)
        *handle = ESYS_TR_NONE;
    return outcome_of(code, REASON_OWNER_PASSWORD);
}

static struct outcome define(struct device *device, const struct request *request, uid_t uid,
                             TPM2_HANDLE number, ESYS_TR *handle) {
    TPM2B_NV_PUBLIC public = {.nvPublic = {
                                  .nvIndex = number,
                                  .nameAlg = TPM2_ALG_SHA256,
                                  .attributes = attributes_of(request->kind),
                                  .dataSize = (UINT16)request->data_length,
                              }};
    write_owner(&public.nvPublic.authPolicy, request->kind, uid, request->tag);
    struct outcome outcome = device_encrypt(device, ENCRYPT_REQUEST);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TPM2B_AUTH auth = {.size = AUTH_LENGTH};
    memcpy(auth.buffer, request->auth, AUTH_LENGTH);
    TSS2_RC code = Esys_NV_DefineSpace(device->esys, ESYS_TR_RH_OWNER, device->session, ESYS_TR_NONE,
                                       ESYS_TR_NONE, &auth, &public, handle);
    explicit_bzero(&auth, sizeof auth);
    if (code != TSS2_RC_SUCCESS)
        *handle = ESYS_TR_NONE;
    return outcome_of(code, REASON_OWNER_PASSWORD);
}

static struct outcome write_data(struct device *device, const struct request *request, ESYS_TR handle) {
    struct outcome outcome = device_authorize(device, handle, request->auth);
    if (outcome.reason == REASON_NONE)
        outcome = device_encrypt(device, ENCRYPT_REQUEST);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TPM2B_MAX_NV_BUFFER data = {.size = (UINT16)request->data_length};
    memcpy(data.buffer, request->data, request->data_length);
    TSS2_RC code =
        Esys_NV_Write(device->esys, handle, handle, device->session, ESYS_TR_NONE, ESYS_TR_NONE, &data, 0);
    explicit_bzero(&data, sizeof data);
    return outcome_of(code, REASON_AUTH);
}

static struct outcome lock(struct device *device, ESYS_TR handle) {
    struct outcome outcome = device_encrypt(device, ENCRYPT_NOTHING);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TSS2_RC code =
        Esys_NV_WriteLock(device->esys, handle, handle, device->session, ESYS_TR_NONE, ESYS_TR_NONE);
    return outcome_of(code, REASON_AUTH);
}

/* Whether an earlier attempt of the same request was interrupted after it had defined this index. */
static bool is_left_over(const struct index *index, const struct request *request, uid_t uid) {
    const TPMS_NV_PUBLIC *public = &index->public.nvPublic;
    return index->handle != ESYS_TR_NONE && (public->attributes & TPMA_NV_WRITTEN) == 0 &&
           is_owned(public, request->kind, uid, request->tag);
}

/* Defines the uid's first free index. */
static struct outcome define_free(struct device *device, const struct request *request, uid_t uid,
                                  TPM2_HANDLE *number, ESYS_TR *handle) {
    for (unsigned place = 0; place < INDICES_OF_UID; place++) {
        struct index index;
        *number = number_of(uid, place);
        struct outcome outcome = look_up(device, *number, &index);
        if (outcome.reason == REASON_NONE && is_left_over(&index, request, uid))
            outcome = undefine(device, &index.handle);
        bool is_free = index.handle == ESYS_TR_NONE;
        forget(device, &index);
        if (outcome.reason != REASON_NONE)
            return outcome;
        if (!is_free)
            continue;
        outcome = define(device, request, uid, *number, handle);
        /* Another process has defined this index since look_up. */
        if (outcome.reason == REASON_REFUSED && outcome_plain_code(outcome.code) == TPM2_RC_NV_DEFINED)
            continue;
        return outcome;
    }
    return outcome_for(REASON_NO_SPACE);
}

/* Defines those reserved indices that are missing. REASON_NO_SPACE: the TPM has no room for them. */
static struct outcome fill_reserve(struct device *device) {
    static const uint8_t nothing[AUTH_LENGTH];
    const struct request request = {
        .kind = KIND_RESERVE, .auth = nothing, .tag = nothing, .data_length = ANCHOR_MAX};
    for (unsigned place = 0; place < RESERVED_INDICES; place++) {
        struct index index;
        struct outcome outcome = look_up(device, RESERVE + place, &index);
        bool is_missing = outcome.reason == REASON_NONE && index.handle == ESYS_TR_NONE;
        if (is_missing)
            outcome = define(device, &request, RESERVE_UID, RESERVE + place, &index.handle);
        forget(device, &index);
        /* Another process may have defined the index since look_up. */
        if (outcome.reason != REASON_NONE && outcome_plain_code(outcome.code) != TPM2_RC_NV_DEFINED)
            return outcome;
    }
    return outcome_ok;
}

/* Undefines one of the first `count` reserved indices. REASON_NO_SPACE: none of them is there. */
static struct outcome give_way(struct device *device, unsigned count) {
    static const uint8_t nothing[TAG_LENGTH];
    for (unsigned place = 0; place < count; place++) {
        struct index index;
        struct outcome outcome = look_up(device, RESERVE + place, &index);
        bool is_there = outcome.reason == REASON_NONE && index.handle != ESYS_TR_NONE &&
                        is_owned(&index.public.nvPublic, KIND_RESERVE, RESERVE_UID, nothing);
        if (is_there)
            outcome = undefine(device, &index.handle);
        forget(device, &index);
        /* Another process has undefined the index since look_up: it left room, too. */
        if (is_there && outcome_plain_code(outcome.code) == TPM2_RC_HANDLE)
            return outcome_ok;
        if (is_there || outcome.reason != REASON_NONE)
            return outcome;
    }
    return outcome_for(REASON_NO_SPACE);
}

/* Defines a free index. While the TPM has no room, undefines one of the first `reserve` reserved indices. */
static struct outcome define_with_reserve(struct device *device, const struct request *request, uid_t uid,
                                          unsigned reserve, TPM2_HANDLE *number, ESYS_TR *handle) {
    struct outcome outcome = define_free(device, request, uid, number, handle);
    while (outcome_plain_code(outcome.code) == TPM2_RC_NV_SPACE) {
        outcome = give_way(device, reserve);
        if (outcome.reason == REASON_NONE)
            outcome = define_free(device, request, uid, number, handle);
    }
    return outcome;
}

/* Looks up an index, and tells whether a uid of that owner owns the index. */
static struct outcome look_at(struct device *device, TPM2_HANDLE number, uid_t owner, bool *is_theirs) {
    struct index index;
    uid_t uid;
    struct outcome outcome = look_up(device, number, &index);
    *is_theirs = outcome.reason == REASON_NONE && index.handle != ESYS_TR_NONE &&
                 read_uid(&index.public.nvPublic.authPolicy, &uid) && owner_of(uid) == owner;
    forget(device, &index);
    return outcome;
}

/* Counts an owner's indices; to INDICES_OF_OWNER at most. */
static struct outcome count_indices(struct device *device, uid_t owner, unsigned *count) {
    TPM2_HANDLE next = FIRST_INDEX;
    TPMI_YES_NO has_more = TPM2_YES;
    *count = 0;
    while (has_more == TPM2_YES) {
        TPMS_CAPABILITY_DATA *found = NULL;
        TSS2_RC code = Esys_GetCapability(device->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                          TPM2_CAP_HANDLES, next, TPM2_MAX_CAP_HANDLES, &has_more, &found);
        if (code != TSS2_RC_SUCCESS)
            return outcome_of(code, REASON_REFUSED);
        TPML_HANDLE handles = found->data.handles;
        Esys_Free(found);
        for (uint32_t place = 0; place < handles.count; place++) {
            next = handles.handle[place] + 1;
            if (next > FIRST_INDEX + UIDS * INDICES_OF_UID)
                return outcome_ok;
            bool is_theirs;
            struct outcome outcome = look_at(device, next - 1, owner, &is_theirs);
            if (outcome.reason != REASON_NONE)
                return outcome;
            if (is_theirs && ++*count == INDICES_OF_OWNER)
                return outcome_ok;
        }
        if (handles.count == 0)
            break;
    }
    return outcome_ok;
}

/* Defines a free index for a uid whose owner has fewer than INDICES_OF_OWNER. */
static struct outcome define_for_owner(struct device *device, const struct request *request, uid_t uid,
                                       TPM2_HANDLE *number, ESYS_TR *handle) {
    uid_t owner = owner_of(uid);
    unsigned count;
    struct outcome outcome = count_indices(device, owner, &count);
    if (outcome.reason != REASON_NONE)
        return outcome;
    if (count == INDICES_OF_OWNER)
        return outcome_for(REASON_NO_SPACE);
    if (owner == 0)
        return define_with_reserve(device, request, uid, RESERVED_INDICES, number, handle);
    if (count > 0 && count < INDICES_OF_VAULT)
        return define_with_reserve(device, request, uid, RESERVED_INDICES - RESERVED_FOR_ROOT, number,
                                   handle);
    outcome = fill_reserve(device);
    return outcome.reason == REASON_NONE ? define_free(device, request, uid, number, handle) : outcome;
}

struct outcome indices_make(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply) {
    TPM2_HANDLE number;
    ESYS_TR handle = ESYS_TR_NONE;
    struct outcome outcome = define_for_owner(device, request, uid, &number, &handle);
    if (outcome.reason != REASON_NONE)
        return outcome;
    outcome = write_data(device, request, handle);
    if (outcome.reason == REASON_NONE && request->kind == KIND_DEVICE_BYTES)
        outcome = lock(device, handle);
    if (outcome.reason == REASON_NONE && !reply_add_number(reply, number))
        outcome = outcome_for(REASON_ALTERED);
    if (outcome.reason != REASON_NONE)
        (void)undefine(device, &handle);
    if (handle != ESYS_TR_NONE)
        (void)Esys_TR_Close(device->esys, &handle);
    return outcome;
}

static struct outcome read_data(struct device *device, const struct request *request, struct index *index,
                                struct reply *reply) {
    struct outcome outcome = device_authorize(device, index->handle, request->auth);
    if (outcome.reason == REASON_NONE)
        outcome = device_encrypt(device, ENCRYPT_ANSWER);
    if (outcome.reason != REASON_NONE)
        return outcome;
    UINT16 length = index->public.nvPublic.dataSize;
    TPM2B_MAX_NV_BUFFER *data = NULL;
    TSS2_RC code = length > ANCHOR_MAX
                       ? TPM2_RC_NV_SIZE
                       : Esys_NV_Read(device->esys, index->handle, index->handle, device->session,
                                      ESYS_TR_NONE, ESYS_TR_NONE, length, 0, &data);
    if (code != TSS2_RC_SUCCESS)
        return outcome_of(code, REASON_AUTH);
    bool is_whole = data->size == length && reply_add(reply, data->buffer, length);
    explicit_bzero(data, sizeof *data);
    Esys_Free(data);
    return is_whole ? outcome_ok : outcome_for(REASON_ALTERED);
}

struct outcome indices_read(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply) {
    struct index index;
    struct outcome outcome = find(device, request, uid, &index);
    if (outcome.reason == REASON_NONE && (index.public.nvPublic.attributes & TPMA_NV_WRITTEN) == 0)
        outcome = outcome_for(REASON_NO_INDEX);
    if (outcome.reason == REASON_NONE)
        outcome = read_data(device, request, &index, reply);
    forget(device, &index);
    return outcome;
}

struct outcome indices_write(struct device *device, const struct request *request, uid_t uid) {
    struct index index;
    struct outcome outcome = find(device, request, uid, &index);
    /* Shorter data would leave the end of the old data in the index. */
    if (outcome.reason == REASON_NONE && index.public.nvPublic.dataSize != request->data_length)
        outcome = outcome_for(REASON_REQUEST);
    if (outcome.reason == REASON_NONE)
        outcome = write_data(device, request, index.handle);
    forget(device, &index);
    return outcome;
}

struct outcome indices_destroy(struct device *device, const struct request *request, uid_t uid) {
    struct index index;
    struct outcome outcome = find(device, request, uid, &index);
    if (outcome.reason == REASON_NONE)
        outcome = undefine(device, &index.handle);
    forget(device, &index);
    return outcome;
}

static bool add_entry(struct reply *reply, const TPMS_NV_PUBLIC *public, enum kind kind, const uint8_t *tag) {
    uint8_t entry[2] = {
        (uint8_t)kind,
        (uint8_t)(((public->attributes & TPMA_NV_WRITTEN) != 0 ? STATE_WRITTEN : 0) |
                  ((public->attributes & TPMA_NV_WRITELOCKED) != 0 ? STATE_LOCKED : 0)),
    };
    return reply_add_number(reply, public->nvIndex) && reply_add(reply, entry, sizeof entry) &&
           reply_add(reply, tag, TAG_LENGTH);
}

struct outcome indices_list(struct device *device, uid_t uid, struct reply *reply) {
    for (unsigned place = 0; place < INDICES_OF_UID; place++) {
        struct index index;
        struct outcome outcome = look_up(device, number_of(uid, place), &index);
        enum kind kind;
        const uint8_t *tag;
        if (outcome.reason == REASON_NONE && index.handle != ESYS_TR_NONE &&
            read_owned(&index.public.nvPublic, uid, &kind, &tag) &&
            !add_entry(reply, &index.public.nvPublic, kind, tag))
            outcome = outcome_for(REASON_ALTERED);
        forget(device, &index);
        if (outcome.reason != REASON_NONE)
            return outcome;
    }
    return outcome_ok;
}

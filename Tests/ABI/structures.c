/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of callers that were compiled against an older or a newer header, or that hold nonsense. */
#define _GNU_SOURCE
#include "store_test.h"
#include <sys/mman.h>
#include <unistd.h>

static tokenkeep_store *store;

/* A newer header's structures: ours with a tail. */
struct newer_open_options {
    tokenkeep_open_options known;
    uint64_t unknown[4];
};
struct newer_save_options {
    tokenkeep_save_options known;
    uint64_t unknown[4];
};
struct newer_session_options {
    tokenkeep_session_options known;
    uint64_t unknown[4];
};

static tokenkeep_status try_open(const void *options, tokenkeep_error **error) {
    tokenkeep_store *opened = NULL;
    tokenkeep_status status = tokenkeep_open((const tokenkeep_open_options *)options, &opened, error);
    CHECK((opened != NULL) == (status == TOKENKEEP_OK));
    tokenkeep_close(opened);
    return status;
}

static tokenkeep_status try_save(const void *options, tokenkeep_error **error) {
    return tokenkeep_save(store, "structures", "a", "x", 1, (const tokenkeep_save_options *)options, error);
}

static tokenkeep_status try_session(const void *options, tokenkeep_error **error) {
    tokenkeep_session *session = NULL;
    tokenkeep_status status = tokenkeep_session_open(
        store, "structures", "a", (const tokenkeep_session_options *)options, &session, error);
    CHECK((session != NULL) == (status == TOKENKEEP_OK));
    tokenkeep_session_close(session);
    return status;
}

static void a_zero_tail_is_accepted(void) {
    struct newer_session_options session_options = {TOKENKEEP_SESSION_OPTIONS_INIT, {0}};
    session_options.known.struct_size = sizeof session_options;
    CHECK_STATUS(TOKENKEEP_OK, try_session(&session_options, &error));
    struct newer_open_options open_options = {TOKENKEEP_OPEN_OPTIONS_INIT, {0}};
    struct newer_save_options save_options = {TOKENKEEP_SAVE_OPTIONS_INIT, {0}};
    open_options.known.struct_size = sizeof open_options;
    save_options.known.struct_size = sizeof save_options;
    CHECK_STATUS(TOKENKEEP_OK, try_open(&open_options, &error));
    CHECK_STATUS(TOKENKEEP_OK, try_save(&save_options, &error));
}

static void a_tail_that_is_set_is_unsupported(void) {
    for (size_t byte = 0; byte < 4 * sizeof(uint64_t); byte++) {
        struct newer_open_options open_options = {TOKENKEEP_OPEN_OPTIONS_INIT, {0}};
        struct newer_save_options save_options = {TOKENKEEP_SAVE_OPTIONS_INIT, {0}};
        open_options.known.struct_size = sizeof open_options;
        save_options.known.struct_size = sizeof save_options;
        ((unsigned char *)open_options.unknown)[byte] = 1;
        ((unsigned char *)save_options.unknown)[byte] = 1;
        CHECK_STATUS(TOKENKEEP_UNSUPPORTED, try_open(&open_options, &error));
        CHECK_STATUS(TOKENKEEP_UNSUPPORTED, try_save(&save_options, &error));
        struct newer_session_options session_options = {TOKENKEEP_SESSION_OPTIONS_INIT, {0}};
        session_options.known.struct_size = sizeof session_options;
        ((unsigned char *)session_options.unknown)[byte] = 1;
        CHECK_STATUS(TOKENKEEP_UNSUPPORTED, try_session(&session_options, &error));
    }
}

/* Puts a structure's first bytes right before a page that cannot be read: whoever reads on dies. */
static void *at_the_end_of_a_page(const void *bytes, size_t count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *base = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, page, PROT_NONE) != 0) {
        exit(2);
    }
    return memcpy(base + page - count, bytes, count);
}

static void smaller_structures_are_read_no_further(void) {
    for (size_t size = sizeof(size_t); size <= sizeof(tokenkeep_open_options); size += 8) {
        tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
        options.struct_size = size;
        CHECK_STATUS(TOKENKEEP_OK, try_open(at_the_end_of_a_page(&options, size), &error));
    }
    for (size_t size = sizeof(size_t); size <= sizeof(tokenkeep_save_options); size += 8) {
        tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
        options.struct_size = size;
        CHECK_STATUS(TOKENKEEP_OK, try_save(at_the_end_of_a_page(&options, size), &error));
    }
    for (size_t size = sizeof(size_t); size <= sizeof(tokenkeep_session_options); size += 8) {
        tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
        options.struct_size = size;
        CHECK_STATUS(TOKENKEEP_OK, try_session(at_the_end_of_a_page(&options, size), &error));
    }
}

static void the_field_after_the_size_counts(void) {
    struct {
        size_t struct_size;
        const char *stack;
    } open_options = {sizeof open_options, "there is no such stack"};
    struct {
        size_t struct_size;
        uint32_t accessibility, flags;
    } save_options = {sizeof save_options, TOKENKEEP_WHEN_UNLOCKED, 0};
    tokenkeep_item *item;
    CHECK_STATUS(TOKENKEEP_INVALID, try_open(&open_options, &error));
    open_options.stack = "default";
    CHECK_STATUS(TOKENKEEP_OK, try_open(&open_options, &error));
    CHECK_STATUS(TOKENKEEP_OK, try_save(&save_options, &error));
    item = load(store, "structures", "a");
    CHECK_NUMBER(TOKENKEEP_WHEN_UNLOCKED, tokenkeep_item_accessibility(item));
    tokenkeep_item_free(item);
}

static void sizes_that_no_structure_has(void) {
    const size_t sizes[] = {0, 1, 7, 9, 12, 20, 4097, 4104, SIZE_MAX / 2, SIZE_MAX - 7, SIZE_MAX};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        /* Nothing but the size is there to be read. */
        void *bytes = at_the_end_of_a_page(&sizes[index], sizeof(size_t));
        CHECK_REFUSED(TOKENKEEP_INVALID, "struct_size", try_open(bytes, &error));
        CHECK_REFUSED(TOKENKEEP_INVALID, "struct_size", try_save(bytes, &error));
        CHECK_REFUSED(TOKENKEEP_INVALID, "struct_size", try_session(bytes, &error));
    }
}

static void unknown_flags_are_unsupported(void) {
    for (int bit = 0; bit < 32; bit++) {
        tokenkeep_open_options open_options = TOKENKEEP_OPEN_OPTIONS_INIT;
        tokenkeep_save_options save_options = TOKENKEEP_SAVE_OPTIONS_INIT;
        open_options.flags = save_options.flags = UINT32_C(1) << bit;
        if (open_options.flags != TOKENKEEP_INTERACTIVE) {
            CHECK_STATUS(TOKENKEEP_UNSUPPORTED, try_open(&open_options, &error));
        }
        if (bit >= 5) {
            CHECK_STATUS(TOKENKEEP_UNSUPPORTED, try_save(&save_options, &error));
        }
    }
}

static void levels_and_flags_that_cannot_be_had(void) {
    const uint32_t no_levels[] = {7, 8, 255, INT32_MAX, UINT32_MAX};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    for (size_t index = 0; index < sizeof no_levels / sizeof *no_levels; index++) {
        options.accessibility = no_levels[index];
        CHECK_REFUSED(TOKENKEEP_INVALID, "accessibility", try_save(&options, &error));
    }
    options.accessibility = TOKENKEEP_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY;
    options.flags = TOKENKEEP_SYNCHRONIZABLE;
    CHECK_STATUS(TOKENKEEP_INVALID, try_save(&options, &error));
    options.accessibility = 0;
    options.flags = TOKENKEEP_IF_ABSENT;
    options.expected_version = 1;
    CHECK_REFUSED(TOKENKEEP_INVALID, "expected_version", try_save(&options, &error));
}

static void a_malformed_stack_is_refused_with_its_line(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = "# a comment\nany required memory\nany requird memory\n";
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack_text:3", try_open(&options, &error));
    options.stack_text = "";
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack_text", try_open(&options, &error));
    options.stack_text = "any required no-such-module";
    CHECK_REFUSED(TOKENKEEP_INVALID, "no-such-module", try_open(&options, &error));
    options.stack_text = "any required memory\r\nany requird memory\r\n";
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack_text:2", try_open(&options, &error));
    options.stack_text = "any required memory\r\nany required vault\r\n";
    CHECK_STATUS(TOKENKEEP_OK, try_open(&options, &error));
    options.stack_text = "any required memory";
    options.stack = "default";
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack", try_open(&options, &error));
}

int main(void) {
    store = open_store();
    RUN(a_zero_tail_is_accepted);
    RUN(a_tail_that_is_set_is_unsupported);
    RUN(smaller_structures_are_read_no_further);
    RUN(the_field_after_the_size_counts);
    RUN(sizes_that_no_structure_has);
    RUN(unknown_flags_are_unsupported);
    RUN(levels_and_flags_that_cannot_be_had);
    RUN(a_malformed_stack_is_refused_with_its_line);
    tokenkeep_close(store);
    return check_result();
}

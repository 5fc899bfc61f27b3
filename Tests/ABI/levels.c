/* SPDX-License-Identifier: Apache-2.0 */
/* A vault with a password, which the program `tokenkeep` sets: unlocking, locking, prompts, what is achieved.
 */
#include "store_test.h"

#include <pthread.h>

static tokenkeep_store *store;

static void nobody_unlocks_with_nothing(void) {
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_unlock(NULL, "x", 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_lock(NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_ready(NULL, 0, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "NULL", tokenkeep_unlock(store, NULL, 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "empty", tokenkeep_unlock(store, NULL, 0, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "longer", tokenkeep_unlock(store, "x", (size_t)-1, &error));
    CHECK_STATUS(TOKENKEEP_DENIED, tokenkeep_unlock(store, "wrong", 5, &error));
}

static void a_lock_ends_at_the_unlock(void) {
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_unlock(store, "horse", 5, &error));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "s", "a", "secret", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_lock(store, &error));
    CHECK_NUMBER(TOKENKEEP_LOCKED, load_status(store, "s", "a"));
    CHECK_REFUSED(TOKENKEEP_LOCKED, "the vault is locked", tokenkeep_ready(store, 0, &error));
    CHECK_REFUSED(TOKENKEEP_LOCKED, "the vault is locked", tokenkeep_ready(store, 1, &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "s", "b"));
    CHECK_NUMBER(TOKENKEEP_LOCKED, save_text(store, "s", "a", "other", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_unlock(store, "horse", 5, NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_ready(store, 0, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_ready(store, 1, &error));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "s", "a"));
}

static uint32_t axis(uint32_t level, uint32_t flags, uint32_t number) {
    tokenkeep_protection *protection = NULL;
    if (tokenkeep_protection_for(store, level, flags, &protection, NULL) != TOKENKEEP_OK)
        return 99;
    uint32_t given = tokenkeep_protection_axis(protection, number);
    CHECK(tokenkeep_protection_mechanism(protection, number) != NULL);
    tokenkeep_protection_free(protection);
    return given;
}

static void the_report_is_that_of_a_password(void) {
    CHECK_NUMBER(TOKENKEEP_PROTECTION_ENFORCED, axis(0, 0, TOKENKEEP_AXIS_OTHER_USER));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_ENFORCED,
                 axis(TOKENKEEP_AFTER_FIRST_UNLOCK, 0, TOKENKEEP_AXIS_DISK_THEFT));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_NONE,
                 axis(TOKENKEEP_AFTER_FIRST_UNLOCK, 0, TOKENKEEP_AXIS_OTHER_MACHINE));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_NONE,
                 axis(TOKENKEEP_AFTER_FIRST_UNLOCK, 0, TOKENKEEP_AXIS_SCREEN_LOCK));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_ADVISORY, axis(TOKENKEEP_WHEN_UNLOCKED, 0, TOKENKEEP_AXIS_SCREEN_LOCK));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_ENFORCED, axis(0, TOKENKEEP_USER_PRESENCE, TOKENKEEP_AXIS_PRESENCE));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_ENFORCED, axis(TOKENKEEP_MEMORY_ONLY, 0, TOKENKEEP_AXIS_OTHER_MACHINE));
}

static void the_report_refuses_what_cannot_be(void) {
    tokenkeep_protection *protection = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_protection_for(NULL, 0, 0, &protection, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "protection", tokenkeep_protection_for(store, 0, 0, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "7", tokenkeep_protection_for(store, 7, 0, &protection, &error));
    CHECK_REFUSED(TOKENKEEP_UNSUPPORTED, "8", tokenkeep_protection_for(store, 0, 8, &protection, &error));
    for (uint32_t level = 3; level <= 5; level++)
        CHECK_STATUS(TOKENKEEP_UNSUPPORTED, tokenkeep_protection_for(store, level, 0, &protection, &error));
    CHECK(protection == NULL);
    CHECK_NUMBER(TOKENKEEP_PROTECTION_NONE, tokenkeep_protection_axis(NULL, TOKENKEEP_AXIS_OTHER_USER));
    CHECK(tokenkeep_protection_mechanism(NULL, TOKENKEEP_AXIS_OTHER_USER) == NULL);
    tokenkeep_protection_free(NULL);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_protection_for(store, 0, 0, &protection, NULL));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_NONE, tokenkeep_protection_axis(protection, 0));
    CHECK_NUMBER(TOKENKEEP_PROTECTION_NONE, tokenkeep_protection_axis(protection, 6));
    CHECK(tokenkeep_protection_mechanism(protection, 6) == NULL);
    tokenkeep_protection_free(protection);
}

/* The last prompt's arguments, and the answers for the next prompts. */
struct prompts {
    const char *answers[4];
    int asked;
    uint32_t attempt;
    pthread_t thread;
    int is_right;
};

static tokenkeep_status answer(void *data, const tokenkeep_prompt *prompt, char *text, size_t capacity,
                               size_t *length) {
    struct prompts *prompts = data;
    const char *word = prompts->answers[prompts->asked++];
    prompts->attempt = prompt->attempt;
    prompts->is_right = prompts->is_right && pthread_equal(prompts->thread, pthread_self()) &&
                        prompt->struct_size == sizeof *prompt && prompt->kind == TOKENKEEP_PROMPT_PASSWORD &&
                        strcmp(prompt->service, "s") == 0 && *prompt->message != 0 && capacity >= 1024;
    /* No lock is held: the store answers meanwhile. */
    prompts->is_right = prompts->is_right && load_status(store, "s", "none") == TOKENKEEP_NOT_FOUND;
    if (word == NULL)
        return TOKENKEEP_CANCELLED;
    memcpy(text, word, strlen(word));
    *length = strcmp(word, "too long") == 0 ? capacity + 1 : strlen(word);
    return TOKENKEEP_OK;
}

static tokenkeep_store *asking_store(struct prompts *prompts, uint32_t flags) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *asking = NULL;
    options.prompt = answer;
    options.prompt_data = prompts;
    options.flags = flags;
    prompts->thread = pthread_self();
    prompts->is_right = 1;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &asking, NULL));
    return asking;
}

static tokenkeep_status load_asking(struct prompts *prompts, uint32_t flags) {
    tokenkeep_store *asking = asking_store(prompts, flags);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_lock(store, NULL));
    tokenkeep_status status = load_status(asking, "s", "a");
    CHECK(prompts->is_right);
    tokenkeep_close(asking);
    return status;
}

static void a_prompt_unlocks_where_it_may(void) {
    struct prompts right = {.answers = {"wrong", "horse"}}, wrong = {.answers = {"x", "y", "z", "horse"}};
    struct prompts cancelled = {.answers = {NULL}}, forbidden = {.answers = {"horse"}};
    struct prompts too_long = {.answers = {"too long"}};
    CHECK_NUMBER(TOKENKEEP_OK, load_asking(&right, TOKENKEEP_INTERACTIVE));
    CHECK_NUMBER(2, right.asked);
    CHECK_NUMBER(2, right.attempt);
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "s", "a"));
    CHECK_NUMBER(TOKENKEEP_DENIED, load_asking(&wrong, TOKENKEEP_INTERACTIVE));
    CHECK_NUMBER(3, wrong.asked);
    CHECK_NUMBER(3, wrong.attempt);
    CHECK_NUMBER(TOKENKEEP_CANCELLED, load_asking(&cancelled, TOKENKEEP_INTERACTIVE));
    CHECK_NUMBER(TOKENKEEP_INVALID, load_asking(&too_long, TOKENKEEP_INTERACTIVE));
    CHECK_NUMBER(TOKENKEEP_LOCKED, load_asking(&forbidden, 0));
    CHECK_NUMBER(0, forbidden.asked);
    CHECK_NUMBER(TOKENKEEP_LOCKED, load_status(store, "s", "a"));
}

static void presence_is_asked_for_at_each_use(void) {
    struct prompts prompts = {.answers = {"horse", "horse", "horse"}};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_store *asking = asking_store(&prompts, TOKENKEEP_INTERACTIVE);
    options.flags = TOKENKEEP_USER_PRESENCE;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_unlock(store, "horse", 5, &error));
    CHECK_NUMBER(TOKENKEEP_LOCKED, save_text(store, "s", "present", "secret", &options));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(asking, "s", "present", "secret", &options));
    CHECK_NUMBER(TOKENKEEP_LOCKED, load_status(store, "s", "present"));
    for (int use = 1; use <= 2; use++) {
        prompts.thread = pthread_self();
        CHECK_NUMBER(TOKENKEEP_OK, load_status(asking, "s", "present"));
        CHECK_NUMBER(1 + use, prompts.asked);
    }
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "s", "present", NULL));
    tokenkeep_close(asking);
}

int main(void) {
    store = open_store();
    RUN(nobody_unlocks_with_nothing);
    RUN(a_lock_ends_at_the_unlock);
    RUN(the_report_is_that_of_a_password);
    RUN(the_report_refuses_what_cannot_be);
    RUN(a_prompt_unlocks_where_it_may);
    RUN(presence_is_asked_for_at_each_use);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_lock(store, NULL));
    tokenkeep_close(store);
    return check_result();
}

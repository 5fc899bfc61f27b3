/* SPDX-License-Identifier: Apache-2.0 */
/* A vault with one damaged record, through the C API: what can be had is had, and the rest is named. */
#define _GNU_SOURCE
#include "store_test.h"
#include <dirent.h>
#include <unistd.h>

static tokenkeep_store *store;
static char records[4096];

/* Damages the one record that is there, in its middle. */
static int damage_the_record(void) {
    DIR *directory = opendir(records);
    struct dirent *entry;
    char path[8192] = "";
    FILE *file;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", records, entry->d_name);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    file = fopen(path, "r+b");
    if (file == NULL) {
        return 0;
    }
    fseek(file, 0, SEEK_END);
    fseek(file, ftell(file) / 2, SEEK_SET);
    fputs("damaged", file);
    return fclose(file) == 0;
}

static void a_damaged_item_is_corrupt_and_named(void) {
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "damaged", "a", "x", NULL));
    if (!CHECK(damage_the_record())) {
        return;
    }
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "whole", "a", "x", NULL));
    {
        tokenkeep_item *item = NULL;
        CHECK_REFUSED(TOKENKEEP_CORRUPT, "damaged (a)", tokenkeep_load(store, "damaged", "a", &item, &error));
        CHECK(item == NULL);
    }
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "whole", "a"));
}

static void a_list_names_its_problem(void) {
    tokenkeep_items *items = NULL;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(store, NULL, &items, &error));
    CHECK_NUMBER(1, tokenkeep_items_count(items));
    CHECK_TEXT("whole", tokenkeep_item_service(tokenkeep_items_at(items, 0)));
    CHECK_NUMBER(TOKENKEEP_CORRUPT, tokenkeep_error_status(tokenkeep_items_problem(items)));
    CHECK_TEXT("vault", tokenkeep_error_module(tokenkeep_items_problem(items)));
    CHECK(*tokenkeep_error_message(tokenkeep_items_problem(items)) != 0);
    tokenkeep_items_free(items);
}

static void clearing_a_service_clears_what_it_can(void) {
    size_t cleared = 7;
    CHECK_STATUS(TOKENKEEP_CORRUPT, tokenkeep_clear_service(store, "whole", &cleared, &error));
    CHECK_NUMBER(7, cleared);
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "whole", "a"));
}

static void saving_over_a_damaged_item_mends_it(void) {
    tokenkeep_item *item;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "damaged", "a", "mended", NULL));
    item = load(store, "damaged", "a");
    CHECK_TEXT("mended", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
}

int main(void) {
    const char *vault = getenv("TOKENKEEP_VAULT");
    if (!stack_is_durable() || vault == NULL) {
        puts("skip damage: not a vault");
        return 0;
    }
    snprintf(records, sizeof records, "%s/current/records", vault);
    store = open_store();
    RUN(a_damaged_item_is_corrupt_and_named);
    RUN(a_list_names_its_problem);
    RUN(clearing_a_service_clears_what_it_can);
    RUN(saving_over_a_damaged_item_mends_it);
    tokenkeep_close(store);
    return check_result();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of every field, from both sides; texts that are none; secrets of every kind. */
#include "store_test.h"

static tokenkeep_store *store;

/* A text of count times the letter a; to be freed. */
static char *letters(size_t count) {
    char *text = (char *)malloc(count + 1);
    if (text == NULL) {
        exit(2);
    }
    memset(text, 'a', count);
    text[count] = 0;
    return text;
}

static tokenkeep_status save_named(const char *service, const char *account, tokenkeep_error **error) {
    return tokenkeep_save(store, service, account, "x", 1, NULL, error);
}

static void names_up_to_their_limits(void) {
    char *service = letters(TOKENKEEP_MAX_SERVICE), *account = letters(TOKENKEEP_MAX_ACCOUNT);
    tokenkeep_item *item;
    CHECK_STATUS(TOKENKEEP_OK, save_named(service, account, &error));
    item = load(store, service, account);
    CHECK_TEXT(service, tokenkeep_item_service(item));
    CHECK_TEXT(account, tokenkeep_item_account(item));
    tokenkeep_item_free(item);
    CHECK_STATUS(TOKENKEEP_OK, save_named("a", "", &error));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "a", ""));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, service, ""));
    free(service);
    free(account);
}

static void names_over_their_limits(void) {
    char *service = letters(TOKENKEEP_MAX_SERVICE + 1), *huge = letters(1 << 20);
    tokenkeep_item *item = NULL;
    tokenkeep_items *items = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is empty", save_named("", "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer than 255", save_named(service, "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account is longer than 255", save_named("s", service, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer", save_named(huge, "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account is longer", tokenkeep_load(store, "s", huge, &item, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer", tokenkeep_clear(store, huge, "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer", tokenkeep_clear_if(store, huge, "a", 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer", tokenkeep_clear_service(store, huge, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is empty", tokenkeep_clear_service(store, "", NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is longer", tokenkeep_list(store, huge, &items, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service is empty", tokenkeep_list(store, "", &items, &error));
    free(service);
    free(huge);
}

static void namespaces(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    char *longest = letters(TOKENKEEP_MAX_NAMESPACE), *longer = letters(TOKENKEEP_MAX_NAMESPACE + 1);
    tokenkeep_store *other = NULL;
    options.name_space = longer;
    CHECK_REFUSED(TOKENKEEP_INVALID, "namespace", tokenkeep_open(&options, &other, &error));
    options.name_space = "a\nb";
    CHECK_REFUSED(TOKENKEEP_INVALID, "namespace", tokenkeep_open(&options, &other, &error));
    options.name_space = "\xff";
    CHECK_REFUSED(TOKENKEEP_INVALID, "namespace", tokenkeep_open(&options, &other, &error));
    CHECK(other == NULL);
    options.name_space = longest;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_open(&options, &other, &error));
    tokenkeep_close(other);
    free(longest);
    free(longer);
}

static void stacks_and_their_names_have_limits(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    char *text = letters(64 * 1024 + 1), *name = letters(256);
    tokenkeep_store *other = NULL;
    text[0] = '#';
    options.stack_text = text;
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack_text", tokenkeep_open(&options, &other, &error));
    options.stack_text = "any required memory # \xc3\x28";
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack_text", tokenkeep_open(&options, &other, &error));
    options.stack_text = NULL;
    options.stack = name;
    CHECK_REFUSED(TOKENKEEP_INVALID, "stack", tokenkeep_open(&options, &other, &error));
    CHECK(other == NULL);
    free(text);
    free(name);
}

static void control_characters_are_refused(void) {
    char text[] = "a?b";
    for (int byte = 1; byte < 0x20; byte++) {
        text[1] = (char)byte;
        CHECK_REFUSED(TOKENKEEP_INVALID, "service", save_named(text, "a", &error));
        CHECK_REFUSED(TOKENKEEP_INVALID, "account", save_named("s", text, &error));
    }
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", save_named("a\x7f", "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", save_named("a\xc2\x80", "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", save_named("a\xc2\x9f", "a", &error));
    CHECK_STATUS(TOKENKEEP_OK, save_named("a\xc2\xa0", "a", &error)); /* a no-break space is none */
}

static void invalid_utf8_is_refused(void) {
    const char *const texts[] = {"\x80",         "\xc3",     "\xc3\x28",         "\xc0\xaf", "\xed\xa0\x80",
                                 "\xe2\x82\x28", "\xe2\x82", "\xf4\x90\x80\x80", "\xfe",     "ok\xff"};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_attribute attribute = {"name", NULL};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) {
        CHECK_REFUSED(TOKENKEEP_INVALID, "service is not valid UTF-8", save_named(texts[index], "a", &error));
        CHECK_REFUSED(TOKENKEEP_INVALID, "account is not valid UTF-8", save_named("s", texts[index], &error));
        options.attribute_count = 0;
        options.label = texts[index];
        CHECK_REFUSED(TOKENKEEP_INVALID, "label is not valid UTF-8",
                      tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
        options.label = NULL;
        options.attributes = &attribute;
        options.attribute_count = 1;
        attribute.value = texts[index];
        CHECK_REFUSED(TOKENKEEP_INVALID, "value is not valid UTF-8",
                      tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    }
    CHECK_STATUS(TOKENKEEP_OK, save_named("\xf0\x9f\x94\x91", "\xc3\xa9", &error));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "\xf0\x9f\x94\x91", "\xc3\xa9"));
    /* The same letter to the eye, but other bytes. */
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "\xf0\x9f\x94\x91", "e\xcc\x81"));
}

static void labels(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    char *longest = letters(TOKENKEEP_MAX_LABEL), *longer = letters(TOKENKEEP_MAX_LABEL + 1);
    tokenkeep_item *item;
    options.label = longest;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "label", "a", "x", 1, &options, &error));
    item = load(store, "label", "a");
    CHECK_TEXT(longest, tokenkeep_item_label(item));
    tokenkeep_item_free(item);
    options.label = longer;
    CHECK_REFUSED(TOKENKEEP_INVALID, "label", tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    options.label = "two\nlines";
    CHECK_REFUSED(TOKENKEEP_INVALID, "label", tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    free(longest);
    free(longer);
}

static tokenkeep_status save_attributes(const tokenkeep_attribute *attributes, size_t count,
                                        tokenkeep_error **error) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.attributes = attributes;
    options.attribute_count = count;
    return tokenkeep_save(store, "attributes", "a", "x", 1, &options, error);
}

static void as_many_attributes_as_allowed(void) {
    tokenkeep_attribute attributes[TOKENKEEP_MAX_ATTRIBUTES + 1];
    char names[TOKENKEEP_MAX_ATTRIBUTES + 1][TOKENKEEP_MAX_ATTRIBUTE_NAME + 1];
    char *value = letters(TOKENKEEP_MAX_ATTRIBUTE_VALUE);
    tokenkeep_item *item;
    for (int index = 0; index <= TOKENKEEP_MAX_ATTRIBUTES; index++) {
        snprintf(names[index], sizeof names[index], "%064d", index);
        attributes[index].name = names[index];
        attributes[index].value = value;
    }
    CHECK_STATUS(TOKENKEEP_OK, save_attributes(attributes, TOKENKEEP_MAX_ATTRIBUTES, &error));
    item = load(store, "attributes", "a");
    CHECK_NUMBER(TOKENKEEP_MAX_ATTRIBUTES, tokenkeep_item_attribute_count(item));
    CHECK_TEXT(value, tokenkeep_item_attribute(item, names[TOKENKEEP_MAX_ATTRIBUTES - 1]));
    tokenkeep_item_free(item);
    CHECK_REFUSED(TOKENKEEP_INVALID, "32", save_attributes(attributes, TOKENKEEP_MAX_ATTRIBUTES + 1, &error));
    free(value);
}

static void attribute_counts_are_checked_before_the_array_is_read(void) {
    const tokenkeep_attribute *nowhere = (const tokenkeep_attribute *)(uintptr_t)8;
    CHECK_REFUSED(TOKENKEEP_INVALID, "attribute_count", save_attributes(nowhere, 33, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "attribute_count", save_attributes(nowhere, SIZE_MAX / 2 + 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "attribute_count", save_attributes(nowhere, SIZE_MAX, &error));
}

static void attributes_outside_their_limits(void) {
    char *name = letters(TOKENKEEP_MAX_ATTRIBUTE_NAME + 1);
    char *value = letters(TOKENKEEP_MAX_ATTRIBUTE_VALUE + 1);
    const tokenkeep_attribute refused[] = {{"", "v"},         {name, "v"},   {"Upper", "v"},
                                           {"a b", "v"},      {"a\nb", "v"}, {"\xff", ""},
                                           {"\xc3\xa9", "v"}, {"n", value},  {"n", "\x01"}};
    const tokenkeep_attribute twice[] = {{"same", "1"}, {"same", "2"}};
    for (size_t index = 0; index < sizeof refused / sizeof *refused; index++) {
        CHECK_REFUSED(TOKENKEEP_INVALID, "attribute", save_attributes(&refused[index], 1, &error));
    }
    CHECK_REFUSED(TOKENKEEP_INVALID, "twice", save_attributes(twice, 2, &error));
    free(name);
    free(value);
}

static void every_byte_is_kept(void) {
    unsigned char secret[512];
    tokenkeep_item *item;
    const unsigned char *loaded;
    size_t length = 0;
    for (size_t index = 0; index < sizeof secret; index++) {
        secret[index] = (unsigned char)(index < 256 ? index : 511 - index);
    }
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "bytes", "a", secret, sizeof secret, NULL, &error));
    item = load(store, "bytes", "a");
    loaded = (const unsigned char *)tokenkeep_item_secret(item, &length);
    CHECK_NUMBER(sizeof secret, length);
    CHECK(loaded != NULL && memcmp(secret, loaded, sizeof secret) == 0 && loaded[length] == 0);
    tokenkeep_item_free(item);
}

static void secrets_of_every_length(void) {
    const size_t lengths[] = {0, 1, 63, 64, 65, 255, 256, 4095, 4096, 65535, 65536, TOKENKEEP_MAX_SECRET};
    char *secret = letters(TOKENKEEP_MAX_SECRET + 1);
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++) {
        size_t length = SIZE_MAX;
        const char *loaded;
        tokenkeep_item *item;
        CHECK_STATUS(TOKENKEEP_OK,
                     tokenkeep_save(store, "length", "a", secret, lengths[index], NULL, &error));
        item = load(store, "length", "a");
        loaded = (const char *)tokenkeep_item_secret(item, &length);
        CHECK_NUMBER(lengths[index], length);
        CHECK(loaded != NULL && memcmp(secret, loaded, lengths[index]) == 0 && loaded[lengths[index]] == 0);
        tokenkeep_item_free(item);
    }
    CHECK_REFUSED(TOKENKEEP_INVALID, "1048576",
                  tokenkeep_save(store, "length", "a", secret, TOKENKEEP_MAX_SECRET + 1, NULL, &error));
    free(secret);
}

static void lengths_are_checked_before_the_secret_is_read(void) {
    const void *nowhere = (const void *)(uintptr_t)8;
    CHECK_REFUSED(TOKENKEEP_INVALID, "secret",
                  tokenkeep_save(store, "s", "a", nowhere, SIZE_MAX, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "secret",
                  tokenkeep_save(store, "s", "a", nowhere, SIZE_MAX / 2 + 1, NULL, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "s", "a", nowhere, 0, NULL, &error));
}

int main(void) {
    store = open_store();
    RUN(names_up_to_their_limits);
    RUN(names_over_their_limits);
    RUN(namespaces);
    RUN(stacks_and_their_names_have_limits);
    RUN(control_characters_are_refused);
    RUN(invalid_utf8_is_refused);
    RUN(labels);
    RUN(as_many_attributes_as_allowed);
    RUN(attribute_counts_are_checked_before_the_array_is_read);
    RUN(attributes_outside_their_limits);
    RUN(every_byte_is_kept);
    RUN(secrets_of_every_length);
    RUN(lengths_are_checked_before_the_secret_is_read);
    tokenkeep_close(store);
    return check_result();
}

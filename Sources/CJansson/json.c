#include "CJansson.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Takes the place of stdin in jansson's archive (cmake/link-library.sh), for a function that nothing calls.
void *tokenkeep_json_no_input;

static void wipe_and_free(void *memory) {
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

// Before any value is made. Memory that malloc gave may be freed by this function as well.
__attribute__((constructor)) static void use_wiping_memory(void) {
    json_set_alloc_funcs(malloc, wipe_and_free);
}

static json_t *inner(const tokenkeep_json *value) {
    return (json_t *)value;
}

static tokenkeep_json *outer(json_t *value) {
    return (tokenkeep_json *)value;
}

static json_t *load(const void *bytes, size_t length, size_t flags, enum json_error_code *code) {
    json_error_t error;
    json_t *value = json_loadb(bytes, length, flags | JSON_ALLOW_NUL, &error);
    *code = value ? json_error_unknown : json_error_code(&error);
    // It holds a piece of the text.
    explicit_bzero(&error, sizeof error);
    return value;
}

tokenkeep_json *tokenkeep_json_parse(const void *bytes, size_t length) {
    enum json_error_code code;
    json_t *value = load(bytes, length, JSON_REJECT_DUPLICATES, &code);
    if (code == json_error_numeric_overflow)
        value = load(bytes, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &code);
    return outer(value);
}

tokenkeep_json *tokenkeep_json_parse_answer(const void *bytes, size_t length) {
    enum json_error_code code;
    return outer(load(bytes, length, JSON_DISABLE_EOF_CHECK, &code));
}

int tokenkeep_json_is_scalar(const void *bytes, size_t length) {
    enum json_error_code code;
    json_t *value = load(bytes, length, JSON_DECODE_ANY, &code);
    int is_scalar = value && !json_is_object(value) && !json_is_array(value) && !json_is_string(value);
    json_decref(value);
    return is_scalar;
}

tokenkeep_json *tokenkeep_json_object(void) {
    return outer(json_object());
}

tokenkeep_json *tokenkeep_json_array(void) {
    return outer(json_array());
}

tokenkeep_json *tokenkeep_json_true(void) {
    return outer(json_true());
}

int tokenkeep_json_append(tokenkeep_json *array, tokenkeep_json *value) {
    return json_array_append_new(inner(array), inner(value)) == 0;
}

tokenkeep_json *tokenkeep_json_string(const char *text, size_t length) {
    return outer(json_stringn(text, length));
}

tokenkeep_json *tokenkeep_json_integer(int64_t number) {
    return outer(json_integer(number));
}

void tokenkeep_json_free(tokenkeep_json *value) {
    json_decref(inner(value));
}

int tokenkeep_json_type(const tokenkeep_json *value) {
    switch (json_typeof(inner(value))) {
    case JSON_OBJECT:
        return TOKENKEEP_JSON_OBJECT;
    case JSON_ARRAY:
        return TOKENKEEP_JSON_ARRAY;
    case JSON_STRING:
        return TOKENKEEP_JSON_STRING;
    case JSON_INTEGER:
        return TOKENKEEP_JSON_INTEGER;
    case JSON_REAL:
        return TOKENKEEP_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return TOKENKEEP_JSON_BOOLEAN;
    default:
        return TOKENKEEP_JSON_NULL;
    }
}

const char *tokenkeep_json_text(const tokenkeep_json *value, size_t *length) {
    *length = json_string_length(inner(value));
    return json_string_value(inner(value));
}

int64_t tokenkeep_json_number(const tokenkeep_json *value) {
    return json_integer_value(inner(value));
}

double tokenkeep_json_real(const tokenkeep_json *value) {
    return json_number_value(inner(value));
}

tokenkeep_json *tokenkeep_json_member(const tokenkeep_json *object, const char *name) {
    return outer(json_object_get(inner(object), name));
}

int tokenkeep_json_set(tokenkeep_json *object, const char *name, tokenkeep_json *value) {
    return json_object_set_new(inner(object), name, inner(value)) == 0;
}

void tokenkeep_json_remove(tokenkeep_json *object, const char *name) {
    json_object_del(inner(object), name);
}

size_t tokenkeep_json_count(const tokenkeep_json *object) {
    return json_object_size(inner(object));
}

void tokenkeep_json_each(tokenkeep_json *object,
                         void (*body)(const char *name, tokenkeep_json *value, void *data), void *data) {
    const char *name;
    json_t *value;
    json_object_foreach(inner(object), name, value) body(name, outer(value), data);
}

tokenkeep_json *tokenkeep_json_retain(tokenkeep_json *value) {
    return outer(json_incref(inner(value)));
}

size_t tokenkeep_json_write(const tokenkeep_json *value, char *bytes, size_t capacity) {
    return json_dumpb(inner(value), bytes, capacity, JSON_COMPACT);
}

tokenkeep_json *tokenkeep_json_element(const tokenkeep_json *array, size_t index) {
    return outer(json_array_get(inner(array), index));
}

int tokenkeep_json_is_true(const tokenkeep_json *value) {
    return json_is_true(inner(value));
}

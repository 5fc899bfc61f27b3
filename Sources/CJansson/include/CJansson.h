/// The part of jansson that TokenKeep uses, for values that hold secrets: freed memory is wiped.
#ifndef TOKENKEEP_CJANSSON_H
#define TOKENKEEP_CJANSSON_H

#include <stddef.h>
#include <stdint.h>

/// A JSON value with exactly one owner, who frees it with tokenkeep_json_free().
typedef struct tokenkeep_json tokenkeep_json;

/// The types of a value, as tokenkeep_json_type() returns them.
enum {
    TOKENKEEP_JSON_OBJECT,
    TOKENKEEP_JSON_ARRAY,
    TOKENKEEP_JSON_STRING,
    TOKENKEEP_JSON_INTEGER,
    TOKENKEEP_JSON_REAL,
    TOKENKEEP_JSON_BOOLEAN,
    TOKENKEEP_JSON_NULL
};

/// Parses one JSON object or array with nothing behind it; NULL if the text is malformed, has a duplicate
/// member, a NUL character in a name or more than 2048 levels. An integer beyond 64 bits becomes a real
/// number.
tokenkeep_json *tokenkeep_json_parse(const void *bytes, size_t length);
/// Parses the JSON object or array at the beginning of a server's answer. Of a repeated member the last
/// counts.
tokenkeep_json *tokenkeep_json_parse_answer(const void *bytes, size_t length);
/// Whether the text is a number that fits, true, false or null.
int tokenkeep_json_is_scalar(const void *bytes, size_t length);
tokenkeep_json *tokenkeep_json_object(void);
tokenkeep_json *tokenkeep_json_array(void);
tokenkeep_json *tokenkeep_json_true(void);
/// Appends to an array, and takes over `value`. 0 if memory was short, or `value` is NULL.
int tokenkeep_json_append(tokenkeep_json *array, tokenkeep_json *value);
tokenkeep_json *tokenkeep_json_string(const char *text, size_t length);
tokenkeep_json *tokenkeep_json_integer(int64_t number);
void tokenkeep_json_free(tokenkeep_json *value);

int tokenkeep_json_type(const tokenkeep_json *value);
/// The text of a string; NULL for another type. Owned by the value.
const char *tokenkeep_json_text(const tokenkeep_json *value, size_t *length);
int64_t tokenkeep_json_number(const tokenkeep_json *value);
/// The value of an integer or a real number; 0 for another type.
double tokenkeep_json_real(const tokenkeep_json *value);
/// Whether the value is true.
int tokenkeep_json_is_true(const tokenkeep_json *value);

/// A member of an object; NULL if it has none. Owned by the object.
tokenkeep_json *tokenkeep_json_member(const tokenkeep_json *object, const char *name);
/// Sets a member, and takes over `value`. 0 if memory was short, or `value` is NULL.
int tokenkeep_json_set(tokenkeep_json *object, const char *name, tokenkeep_json *value);
/// An element of an array, which owns it; NULL beyond its end and for another type.
tokenkeep_json *tokenkeep_json_element(const tokenkeep_json *array, size_t index);
void tokenkeep_json_remove(tokenkeep_json *object, const char *name);
size_t tokenkeep_json_count(const tokenkeep_json *object);
/// The names of an object's members, one call each, in order.
void tokenkeep_json_each(tokenkeep_json *object,
                         void (*body)(const char *name, tokenkeep_json *value, void *data), void *data);
/// Another owner of the same value.
tokenkeep_json *tokenkeep_json_retain(tokenkeep_json *value);

/// Writes the value as one line into `bytes`, and returns the length that it needs.
size_t tokenkeep_json_write(const tokenkeep_json *value, char *bytes, size_t capacity);

#endif

/* Asserts the layout of every public structure on LP64: a change that is not an addition at the end breaks
 * programs. */
#include <tokenkeep.h>

#define FIELD(type, field, offset)                                                                           \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved from its offset")

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the layouts below are those of LP64");

_Static_assert(sizeof(tokenkeep_attribute) == 16, "tokenkeep_attribute never grows: it is used in arrays");
FIELD(tokenkeep_attribute, name, 0);
FIELD(tokenkeep_attribute, value, 8);

_Static_assert(sizeof(tokenkeep_prompt) == 40, "size of tokenkeep_prompt");
FIELD(tokenkeep_prompt, struct_size, 0);
FIELD(tokenkeep_prompt, kind, 8);
FIELD(tokenkeep_prompt, attempt, 12);
FIELD(tokenkeep_prompt, message, 16);
FIELD(tokenkeep_prompt, service, 24);
FIELD(tokenkeep_prompt, account, 32);

_Static_assert(sizeof(tokenkeep_open_options) == 56, "size of tokenkeep_open_options");
FIELD(tokenkeep_open_options, struct_size, 0);
FIELD(tokenkeep_open_options, stack, 8);
FIELD(tokenkeep_open_options, stack_text, 16);
FIELD(tokenkeep_open_options, name_space, 24);
FIELD(tokenkeep_open_options, timeout_ms, 32);
FIELD(tokenkeep_open_options, flags, 36);
FIELD(tokenkeep_open_options, prompt, 40);
FIELD(tokenkeep_open_options, prompt_data, 48);

_Static_assert(sizeof(tokenkeep_save_options) == 64, "size of tokenkeep_save_options");
FIELD(tokenkeep_save_options, struct_size, 0);
FIELD(tokenkeep_save_options, accessibility, 8);
FIELD(tokenkeep_save_options, flags, 12);
FIELD(tokenkeep_save_options, label, 16);
FIELD(tokenkeep_save_options, expires_at, 24);
FIELD(tokenkeep_save_options, expected_version, 32);
FIELD(tokenkeep_save_options, attributes, 40);
FIELD(tokenkeep_save_options, attribute_count, 48);
FIELD(tokenkeep_save_options, saved_version, 56);

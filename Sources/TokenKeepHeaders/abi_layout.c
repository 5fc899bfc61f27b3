/* Asserts the layout of every public structure on LP64. Only a field added at the end of a structure keeps
 * compiled programs working. */
#include <tokenkeep.h>
#include <tokenkeep/module.h>

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

/* Modules that were compiled with earlier headers rely on the layouts below. */
_Static_assert(sizeof(tokenkeep_module_item) == 104, "size of tokenkeep_module_item");
FIELD(tokenkeep_module_item, struct_size, 0);
FIELD(tokenkeep_module_item, name_space, 8);
FIELD(tokenkeep_module_item, service, 16);
FIELD(tokenkeep_module_item, account, 24);
FIELD(tokenkeep_module_item, label, 32);
FIELD(tokenkeep_module_item, secret, 40);
FIELD(tokenkeep_module_item, secret_length, 48);
FIELD(tokenkeep_module_item, accessibility, 56);
FIELD(tokenkeep_module_item, flags, 60);
FIELD(tokenkeep_module_item, created_at, 64);
FIELD(tokenkeep_module_item, modified_at, 72);
FIELD(tokenkeep_module_item, expires_at, 80);
FIELD(tokenkeep_module_item, attributes, 88);
FIELD(tokenkeep_module_item, attribute_count, 96);

_Static_assert(sizeof(tokenkeep_module_options) == 40, "size of tokenkeep_module_options");
FIELD(tokenkeep_module_options, struct_size, 0);
FIELD(tokenkeep_module_options, name, 8);
FIELD(tokenkeep_module_options, arguments, 16);
FIELD(tokenkeep_module_options, argument_count, 24);
FIELD(tokenkeep_module_options, changed_data, 32);

_Static_assert(sizeof(tokenkeep_host) == 88, "size of tokenkeep_host");
FIELD(tokenkeep_host, struct_size, 0);
FIELD(tokenkeep_host, alloc, 8);
FIELD(tokenkeep_host, free, 16);
FIELD(tokenkeep_host, remaining_ms, 24);
FIELD(tokenkeep_host, is_over, 32);
FIELD(tokenkeep_host, may_prompt, 40);
FIELD(tokenkeep_host, set_error, 48);
FIELD(tokenkeep_host, answer, 56);
FIELD(tokenkeep_host, note, 64);
FIELD(tokenkeep_host, changed, 72);
FIELD(tokenkeep_host, extension, 80);

_Static_assert(sizeof(tokenkeep_module) <= TOKENKEEP_MODULE_ROOM, "the room that every host has");
_Static_assert(sizeof(tokenkeep_module) == 96, "size of tokenkeep_module");
FIELD(tokenkeep_module, struct_size, 0);
FIELD(tokenkeep_module, minor, 8);
FIELD(tokenkeep_module, capabilities, 12);
FIELD(tokenkeep_module, refusal, 16);
FIELD(tokenkeep_module, open, 24);
FIELD(tokenkeep_module, close, 32);
FIELD(tokenkeep_module, load, 40);
FIELD(tokenkeep_module, save, 48);
FIELD(tokenkeep_module, clear, 56);
FIELD(tokenkeep_module, list, 64);
FIELD(tokenkeep_module, prepare, 72);
FIELD(tokenkeep_module, report, 80);
FIELD(tokenkeep_module, extension, 88);

_Static_assert(sizeof(tokenkeep_session_options) == 72, "size of tokenkeep_session_options");
FIELD(tokenkeep_session_options, struct_size, 0);
FIELD(tokenkeep_session_options, provider, 8);
FIELD(tokenkeep_session_options, refresh_url, 16);
FIELD(tokenkeep_session_options, client_id, 24);
FIELD(tokenkeep_session_options, rotation, 32);
FIELD(tokenkeep_session_options, overlap_s, 36);
FIELD(tokenkeep_session_options, accessibility, 40);
FIELD(tokenkeep_session_options, refresh_accessibility, 44);
FIELD(tokenkeep_session_options, timeout_ms, 48);
FIELD(tokenkeep_session_options, flags, 52);
FIELD(tokenkeep_session_options, http, 56);
FIELD(tokenkeep_session_options, http_data, 64);

_Static_assert(sizeof(tokenkeep_login_options) == 72, "size of tokenkeep_login_options");
FIELD(tokenkeep_login_options, struct_size, 0);
FIELD(tokenkeep_login_options, provider, 8);
FIELD(tokenkeep_login_options, scope, 16);
FIELD(tokenkeep_login_options, resource, 24);
FIELD(tokenkeep_login_options, audience, 32);
FIELD(tokenkeep_login_options, flow, 40);
FIELD(tokenkeep_login_options, timeout_ms, 44);
FIELD(tokenkeep_login_options, show, 48);
FIELD(tokenkeep_login_options, data, 56);
FIELD(tokenkeep_login_options, flags, 64);

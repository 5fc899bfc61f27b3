/* module.h as an earlier minor version may have had it: both structures end sooner. What compiles with it
 * must still load. Made from the header of today by leaving out the ends. */
#ifndef TOKENKEEP_MODULE_H
#define TOKENKEEP_MODULE_H
#include <tokenkeep/types.h>
#define TOKENKEEP_MODULE_MINOR          0
#define TOKENKEEP_MODULE_KEEPS_METADATA 32
#define TOKENKEEP_MODULE_WATCHES        64
typedef struct tokenkeep_call tokenkeep_call;
typedef struct tokenkeep_module_item {
    size_t struct_size;
    const char *name_space, *service, *account, *label;
    const void *secret;
    size_t secret_length;
} tokenkeep_module_item;
typedef struct tokenkeep_module_options {
    size_t struct_size;
    const char *name;
    const char *const *arguments;
    size_t argument_count;
} tokenkeep_module_options;
typedef struct tokenkeep_host {
    size_t struct_size;
    void *(*alloc)(size_t size);
    void (*free)(void *memory);
    uint32_t (*remaining_ms)(const tokenkeep_call *call);
    int32_t (*is_over)(const tokenkeep_call *call);
    int32_t (*may_prompt)(const tokenkeep_call *call);
    void (*set_error)(tokenkeep_call *call, const char *text);
    void (*answer)(tokenkeep_call *call, const tokenkeep_module_item *item);
} tokenkeep_host;
typedef struct tokenkeep_module {
    size_t struct_size;
    uint32_t minor, capabilities;
    const char *refusal;
    tokenkeep_status (*open)(const tokenkeep_module_options *options, void **handle, tokenkeep_call *call);
    void (*close)(void *handle);
    tokenkeep_status (*load)(void *handle, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call);
    tokenkeep_status (*save)(void *handle, const tokenkeep_module_item *item, tokenkeep_call *call);
    tokenkeep_status (*clear)(void *handle, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call);
} tokenkeep_module;
TOKENKEEP_EXPORT tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *host, uint32_t host_minor,
                                                          tokenkeep_module *module);
#endif

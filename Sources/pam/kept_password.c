#define _GNU_SOURCE
#include "kept_password.h"

#include <string.h>
#include <sys/mman.h>

#define DATA_NAME "tokenkeep-password"

struct kept {
    size_t size; /* of the mapping */
    uid_t user;
    char password[];
};

static void wipe(pam_handle_t *pamh, void *data, int status) {
    (void)pamh;
    (void)status;
    struct kept *kept = data;
    if (kept == NULL)
        return;
    size_t size = kept->size;
    explicit_bzero(kept, size);
    (void)munmap(kept, size);
}

void keep_password(pam_handle_t *pamh, uid_t user, const char *password) {
    size_t length = strlen(password) + 1, size = sizeof(struct kept) + length;
    void *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return;
    if (mlock(mapping, size) != 0) {
        (void)munmap(mapping, size);
        return;
    }
    (void)madvise(mapping, size, MADV_DONTDUMP);
    struct kept *kept = mapping;
    kept->size = size;
    kept->user = user;
    memcpy(kept->password, password, length);
    if (pam_set_data(pamh, DATA_NAME, kept, wipe) != PAM_SUCCESS)
        wipe(pamh, kept, 0);
}

static const struct kept *find(pam_handle_t *pamh) {
    const void *data = NULL;
    return pam_get_data(pamh, DATA_NAME, &data) == PAM_SUCCESS ? data : NULL;
}

const char *kept_password(pam_handle_t *pamh, uid_t user) {
    const struct kept *kept = find(pamh);
    return kept != NULL && kept->user == user ? kept->password : NULL;
}

void drop_password(pam_handle_t *pamh) {
    if (find(pamh) != NULL)
        (void)pam_set_data(pamh, DATA_NAME, NULL, NULL);
}

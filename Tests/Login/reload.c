/* Loads and unloads the module 1,000 times, calling it each time: it may leave no mapping and no descriptor
 * behind. */
#include <dlfcn.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*entry)(pam_handle_t *, int, int, const char **);

static int lines_of(const char *path) {
    FILE *file = fopen(path, "r");
    int count = 0, character;
    while (file != NULL && (character = fgetc(file)) != EOF)
        count += character == '\n';
    if (file != NULL)
        (void)fclose(file);
    return count;
}

static int load(const char *path) {
    void *module = dlopen(path, RTLD_NOW);
    if (module == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    entry setcred;
    void *symbol = dlsym(module, "pam_sm_setcred");
    memcpy(&setcred, &symbol, sizeof setcred);
    int result = symbol == NULL ? -1 : setcred(NULL, 0, 0, NULL);
    return dlclose(module) != 0 ? -1 : result;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    int mappings = 0;
    for (int count = 0; count < 1000; count++) {
        if (load(argv[1]) != PAM_IGNORE)
            return 1;
        if (count == 10)
            mappings = lines_of("/proc/self/maps");
    }
    int more = lines_of("/proc/self/maps") - mappings, descriptor = dup(0);
    (void)printf("%d more mappings, next descriptor %d\n", more, descriptor);
    return more > 0 || descriptor != 3;
}

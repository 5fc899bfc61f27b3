/* A whole process that saves or loads one token on the Secret Service. Usage: service-start-tokenkeep
 * save|load */
#include "service-ours.h"

int main(int argc, char **argv) {
    tokenkeep_store *store = ours_open();
    if (argc != 2 || store == NULL)
        return 2;
    int result = strcmp(argv[1], "save") == 0 ? ours_save(store) : ours_load(store);
    tokenkeep_close(store);
    return result;
}

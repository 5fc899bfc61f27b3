/* A whole process that saves or loads one token on the Secret Service. Usage: service-start-libsecret
 * save|load */
#include "service-theirs.h"

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    return strcmp(argv[1], "save") == 0 ? theirs_save() : theirs_load();
}

/* Does nothing, but linked to libsecret: what its users pay before their first call. */
#include <libsecret/secret.h>

int main(void) {
    return secret_value_get_type() == 0;
}

/* Does nothing, but linked to libsecret: the cost for its users before their first call. */
#include <libsecret/secret.h>

int main(void) {
    return secret_value_get_type() == 0;
}

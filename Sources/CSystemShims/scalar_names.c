#include "CSystemShims.h"

intptr_t tokenkeep_no_scalar_name(uint32_t scalar, uint8_t *buffer, intptr_t capacity) {
    (void)scalar, (void)buffer, (void)capacity;
    return 0;
}

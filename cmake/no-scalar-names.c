/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the function of Swift's standard library behind Unicode.Scalar.Properties.name, which nothing in
 * the library calls. The linker then drops the names of all characters: half a megabyte. 0: no name. */
#include <stdint.h>

intptr_t _swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, intptr_t capacity);

intptr_t _swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, intptr_t capacity) {
    (void)scalar, (void)buffer, (void)capacity;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point of libFuzzer. TOKENKEEP_FUZZ_TARGET names the reader that gets the inputs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int32_t tokenkeep_fuzz(const char *target, const void *input, intptr_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *target = getenv("TOKENKEEP_FUZZ_TARGET");
    int32_t result = tokenkeep_fuzz(target ? target : "", data, (intptr_t)size);
    if (result > 0)
        abort(); /* libFuzzer keeps the input and reports it. */
    if (result < 0) {
        fputs("TOKENKEEP_FUZZ_TARGET names no target\n", stderr);
        exit(2);
    }
    return 0;
}

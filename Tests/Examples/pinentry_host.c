/* Asks by examples/login-helper/pinentry.c as any program may. Prints the status's name and the answer.
 *
 *     pinentry_host PROGRAM KIND CAPACITY [ignore-children]     KIND: TOKENKEEP_PROMPT_... as a number
 */
#include "../Support/check.h"
#include "pinentry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    struct pinentry pinentry = PINENTRY_INIT;
    tokenkeep_prompt prompt = {sizeof prompt, 0, 1, "100% of\nthe \"vault\" ä", "", ""};
    size_t capacity, length = 0;
    if (count < 4)
        return 2;
    if (count > 4)
        signal(SIGCHLD, SIG_IGN);
    pinentry.program = arguments[1];
    pinentry.timeout_ms = CHECK_PATIENCE_MS;
    prompt.kind = (uint32_t)atoi(arguments[2]);
    capacity = (size_t)atoi(arguments[3]);
    char *answer = calloc(1, capacity + 1);
    if (answer == NULL)
        return 3;
    tokenkeep_status status = pinentry_prompt(&pinentry, &prompt, answer, capacity, &length);
    for (size_t index = 0; status != TOKENKEEP_OK && index < capacity; index++) {
        if (answer[index] != '\0')
            return 4;
    }
    printf("%s %.*s\n", tokenkeep_status_name(status), (int)length, answer);
    free(answer);
    return 0;
}

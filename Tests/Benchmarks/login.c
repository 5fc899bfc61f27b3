/* Times a login: the authentication and the session of a PAM service, without the end of the session. Usage,
 * as root: login SERVICE USER PASSWORD ROUNDS [COMMAND]. The command runs before each round and is not timed.
 */
#include "stopwatch.h"

#include <security/pam_appl.h>
#include <string.h>

static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
                    void *data) {
    struct pam_response *answers = calloc((size_t)count, sizeof *answers);
    if (answers == NULL)
        return PAM_BUF_ERR;
    for (int index = 0; index < count; index++) {
        if (messages[index]->msg_style == PAM_PROMPT_ECHO_OFF)
            answers[index].resp = strdup(data);
    }
    *responses = answers;
    return PAM_SUCCESS;
}

int main(int argc, char **argv) {
    static stopwatch watch;
    if (argc < 5)
        return 1;
    struct pam_conv conversation = {converse, argv[3]};
    for (int round = 0; round < atoi(argv[4]); round++) {
        pam_handle_t *pamh = NULL;
        if (argc > 5 && system(argv[5]) != 0)
            return 1;
        if (pam_start(argv[1], argv[2], &conversation, &pamh) != PAM_SUCCESS)
            return 1;
        double start = stopwatch_now();
        int code = pam_authenticate(pamh, 0);
        if (code == PAM_SUCCESS)
            code = pam_open_session(pamh, 0);
        stopwatch_add(&watch, stopwatch_now() - start);
        if (code != PAM_SUCCESS)
            return 1;
        (void)pam_close_session(pamh, 0);
        (void)pam_end(pamh, code);
    }
    stopwatch_print(&watch, "login", 1);
    return 0;
}

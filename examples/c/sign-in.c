/*
 * Signs in at a provider (docs/signing-in.md) and prints the user's access token for curl.
 *
 *     cc sign-in.c $(pkg-config --cflags --libs tokenkeep) -o sign-in
 *     ./sign-in gitlab.com ann gitlab
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>
#include <unistd.h>

/* Shows a step on standard error, and reads a pasted address from standard input without waiting for it. */
static tokenkeep_status show(void *data, const tokenkeep_login_step *step, char *answer, size_t capacity,
                             size_t *length) {
    int *is_asked = data;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    switch (tokenkeep_login_step_kind(step)) {
    case TOKENKEEP_LOGIN_BROWSER:
        fprintf(stderr, "The browser opens\n  %s\n", tokenkeep_login_step_url(step));
        return TOKENKEEP_OK;
    case TOKENKEEP_LOGIN_DEVICE:
        fprintf(stderr, "Open %s and type the code %s\n", tokenkeep_login_step_url(step),
                tokenkeep_login_step_user_code(step));
        return TOKENKEEP_OK;
    default:
        if (!(*is_asked)++)
            fprintf(stderr, "Open\n  %s\nand paste the address to which the browser is sent.\n",
                    tokenkeep_login_step_url(step));
        if (isatty(STDIN_FILENO) && poll(&input, 1, 0) > 0 && fgets(answer, (int)capacity, stdin))
            *length = strlen(answer);
        return TOKENKEEP_OK;
    }
}

int main(int count, char **words) {
    tokenkeep_login_options options = TOKENKEEP_LOGIN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_error *error = NULL;
    int is_asked = 0;

    if (count != 4) {
        fprintf(stderr, "usage: sign-in SERVICE ACCOUNT PROVIDER\n");
        return 2;
    }
    /* [sign-in] */
    options.provider = words[3];
    options.show = show;
    options.data = &is_asked;
    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK ||
        tokenkeep_login(store, words[1], words[2], &options, &session, &error) != TOKENKEEP_OK ||
        tokenkeep_session_token(session, 60, &token, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
        tokenkeep_session_close(session);
        tokenkeep_close(store);
        return 1;
    }
    /* [/sign-in] */
    printf("Authorization: %s %s\n", tokenkeep_token_type(token), tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
    tokenkeep_close(store);
    return 0;
}

#define _GNU_SOURCE
#include "questions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#ifndef PINENTRY_MS
#define PINENTRY_MS 60000
#endif

enum { token_capacity = 65536 };

static tokenkeep_status unlock(struct questions *questions) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status =
        tokenkeep_load(questions->store, questions->service, questions->account, &item, NULL);
    tokenkeep_item_free(item);
    return status == TOKENKEEP_NOT_FOUND ? TOKENKEEP_OK : status;
}

static tokenkeep_status ask_token(struct questions *questions) {
    static char token[token_capacity];
    char text[1024];
    size_t length = 0;
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    snprintf(text, sizeof text, "The token of %s for %s is missing.",
             questions->account[0] ? questions->account : "this user", questions->service);
    struct pinentry_question question = {text, "Token:", NULL, 0};
    tokenkeep_status status = pinentry_ask(&questions->pinentry, &question, token, sizeof token, &length);
    if (status == TOKENKEEP_OK && length == 0)
        status = TOKENKEEP_CANCELLED;
    /* A token that was saved meanwhile stays. */
    options.flags = TOKENKEEP_IF_ABSENT;
    if (status == TOKENKEEP_OK)
        status = tokenkeep_save(questions->store, questions->service, questions->account, token, length,
                                &options, NULL);
    explicit_bzero(token, sizeof token);
    return status == TOKENKEEP_DUPLICATE ? TOKENKEEP_OK : status;
}

static void *run(void *data) {
    struct questions *questions = data;
    questions->status = questions->is_unlock ? unlock(questions) : ask_token(questions);
    (void)eventfd_write(questions->done, 1);
    return NULL;
}

static int on_done(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    (void)source, (void)events;
    struct questions *questions = data;
    eventfd_t count;
    (void)eventfd_read(descriptor, &count);
    if (!questions->is_open)
        return 0;
    pthread_join(questions->thread, NULL);
    questions->is_open = false;
    questions->answered(questions->data, questions->is_unlock, questions->service, questions->account,
                        questions->status);
    return 0;
}

static bool start(struct questions *questions, bool is_unlock, const char *service, const char *account) {
    if (questions->is_open)
        return false;
    questions->is_unlock = is_unlock;
    questions->service = service;
    questions->account = account;
    questions->is_open = pthread_create(&questions->thread, NULL, run, questions) == 0;
    return questions->is_open;
}

bool questions_unlock(struct questions *questions, const char *service, const char *account) {
    return start(questions, true, service, account);
}

bool questions_token(struct questions *questions, const char *service, const char *account) {
    return start(questions, false, service, account);
}

int questions_start(struct questions *questions, sd_event *event, const char *pinentry) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    questions->pinentry = (struct pinentry)PINENTRY_INIT;
    questions->pinentry.program = pinentry;
    questions->pinentry.title = "TokenKeep";
    questions->pinentry.timeout_ms = PINENTRY_MS;
    questions->pinentry.cancel_fd = eventfd(0, EFD_CLOEXEC);
    questions->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    options.flags = TOKENKEEP_INTERACTIVE;
    options.prompt = pinentry_prompt;
    options.prompt_data = &questions->pinentry;
    if (questions->pinentry.cancel_fd < 0 || questions->done < 0)
        return errno;
    if (tokenkeep_open(&options, &questions->store, NULL) != TOKENKEEP_OK)
        return EINVAL;
    int error = sd_event_add_io(event, NULL, questions->done, EPOLLIN, on_done, questions);
    return error < 0 ? -error : 0;
}

void questions_end(struct questions *questions) {
    if (questions->is_open) {
        (void)eventfd_write(questions->pinentry.cancel_fd, 1);
        tokenkeep_cancel(questions->store);
        pthread_join(questions->thread, NULL);
        questions->is_open = false;
    }
    tokenkeep_close(questions->store);
    close(questions->pinentry.cancel_fd);
    close(questions->done);
}

#include "fatal_errors.h"
#include "CLibsecret.h"

#include <errno.h>
#include <setjmp.h>

enum { log_level_error = 4, log_flag_fatal = 2 };

static _Thread_local jmp_buf *way_out;

static void on_error(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    if (way_out)
        longjmp(*way_out, errno != 0 ? errno : ECANCELED);
    tokenkeep_libsecret_table()->g_log_default_handler(domain, level, message, data);
}

int fatal_errors_leave(void (*function)(void *), void *argument) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    jmp_buf out;
    guint handler = glib->g_log_set_handler("GLib", log_level_error | log_flag_fatal, on_error, NULL);
    way_out = &out;
    errno = 0;
    volatile int reason = setjmp(out);
    if (reason == 0)
        function(argument);
    way_out = NULL;
    glib->g_log_remove_handler("GLib", handler);
    return reason;
}

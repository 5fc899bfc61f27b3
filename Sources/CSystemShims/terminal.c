#define _GNU_SOURCE
#include "CSystemShims.h"

#include <locale.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <wchar.h>

int tokenkeep_signal_descriptor(const sigset_t *signals) {
    return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int tokenkeep_next_signal(int descriptor) {
    struct signalfd_siginfo info;
    return read(descriptor, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

int tokenkeep_display_width(uint32_t scalar) {
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        return 1;
    locale_t previous = uselocale(utf8);
    int width = wcwidth((wchar_t)scalar);
    uselocale(previous);
    freelocale(utf8);
    return width < 0 ? 1 : width;
}

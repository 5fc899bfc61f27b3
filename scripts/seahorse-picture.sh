#!/bin/sh
# Takes the picture of docs/desktop.md: two tokens in Seahorse, saved by the installed program into a real gnome-keyring.
# Everything runs in a private home, on a private bus and a private screen. Installs nothing; needs seahorse,
# gnome-keyring, dbus, xvfb, xdotool and imagemagick.
#
# Usage: seahorse-picture.sh PREFIX [PICTURE]
set -eu

if [ "${1:-}" != --inside ]; then
    [ $# -ge 1 ] && [ -x "$1/bin/tokenkeep" ] || { echo "usage: seahorse-picture.sh PREFIX [PICTURE]" >&2; exit 2; }
    for program in seahorse gnome-keyring-daemon dbus-run-session Xvfb xdotool import; do
        command -v "$program" >/dev/null || { echo "seahorse-picture.sh: $program is not installed" >&2; exit 1; }
    done
    script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
    picture=${2:-$(dirname "$script")/../docs/seahorse.png}
    home=$(mktemp -d)
    trap 'rm -rf "$home"' EXIT
    env -i PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR="$home" TOKENKEEP_VAULT="$home/vault" LC_ALL=C.UTF-8 \
        GDK_BACKEND=x11 GSETTINGS_BACKEND=memory NO_AT_BRIDGE=1 GTK_THEME=Adwaita \
        dbus-run-session -- "$script" --inside "$1/bin/tokenkeep" "$picture"
    exit
fi

tokenkeep=$2
picture=$3
started=""
trap 'for process in $started; do kill "$process" 2>/dev/null || true; done; wait' EXIT

# Waits for a condition, at most half a minute.
await() {
    end=$(($(date +%s) + 30))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || { echo "seahorse-picture.sh: waited in vain: $*" >&2; exit 1; }
        sleep 0.2
    done
}

printf %s "keyring password" | gnome-keyring-daemon --unlock --components=secrets --foreground >/dev/null 2>&1 &
started="$started $!"
await gdbus wait --session --timeout 1 org.freedesktop.secrets
stack="any required secret-service"
printf %s "s3cr3t" | "$tokenkeep" save --stack "$stack" example.com ann --expires 2030-12-31
printf %s "t0k3n" | "$tokenkeep" save --stack "$stack" api.example.org build-server --label "Deploy token of the build server"

mkfifo "$HOME/screen"
Xvfb -displayfd 3 -screen 0 900x560x24 -nolisten tcp 3>"$HOME/screen" 2>/dev/null &
started="$started $!"
read -r number <"$HOME/screen"
export DISPLAY=":$number"
seahorse >/dev/null 2>&1 &
started="$started $!"
await xdotool search --onlyvisible --class seahorse
window=$(xdotool search --onlyvisible --class seahorse | tail -1)
xdotool windowmove "$window" 0 0 windowsize "$window" 900 400
settled() {
    import -window "$window" "$HOME/one.ppm" && sleep 1 && import -window "$window" "$HOME/two.ppm"
    cmp -s "$HOME/one.ppm" "$HOME/two.ppm"
}
await settled
xdotool mousemove 60 100 click 1 # the keyring, first in the list at the side
await settled
import -window "$window" -strip "$picture"

# Starts the tests' own server for a program in C, which is the script's one argument. Sourced by login.sh and providers.sh.
#
# Afterwards: address of the server, and providers, the directory for the files that name its endpoints.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill "$server"; rm -rf "$work"' EXIT
providers="$work/config/tokenkeep/providers.d"
mkdir -p "$providers" "$work/served"
: >"$work/ports" # before the server has it
python3 "$here/../Servers/lying_server.py" "$work/served" >>"$work/ports" &
server=$!
tail -n +1 -f "$work/ports" --pid="$server" | head -n 1 >/dev/null
address="http://127.0.0.1:$(sed -E 's/.*\bhttp=([0-9]+).*/\1/' "$work/ports")"
export XDG_CONFIG_HOME="$work/config" REQUESTS="$work/served/requests"

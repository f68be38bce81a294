# progress.sh - the progress lines of scripts. Sourced; needs bash.
# Everything goes to standard error, so that standard output stays the caller's (tables, JSON).

report() { printf '%s\n' "$*" >&2; }

# fail REASON: the one line that a script ends with when it cannot go on.
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# step TEXT LOG COMMAND...: runs COMMAND with its output in LOG; a dot every 2 s, the time at the end,
# the log's last lines when it fails. Returns COMMAND's status.
step() {
    local text=$1 log=$2 began=$SECONDS status=0
    shift 2
    printf '%s ' "$text" >&2
    (while sleep 2; do printf '.' >&2; done) &
    local dots=$!
    "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$dots" 2>/dev/null
    wait "$dots" 2>/dev/null
    if [ "$status" -eq 0 ]; then
        report " done ($((SECONDS - began)) s)"
    else
        report " failed ($((SECONDS - began)) s); the end of $log:"
        tail -n 20 "$log" >&2
    fi
    return "$status"
}

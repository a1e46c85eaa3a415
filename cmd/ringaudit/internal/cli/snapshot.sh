#!/bin/sh
# Saves the evidence of a live tracefs, read-only, for "ringaudit audit".
# Printed by "ringaudit snapshot --print-script"; needs a POSIX shell, and of
# busybox or coreutils: cat dd find grep mkdir mv rm sed sort tr uname wc;
# sha256sum (else the bundle cannot be verified) and tar (for -o NAME.tar).
#
# Nothing is written to the tracefs, nothing is consumed: trace_pipe,
# trace_pipe_raw, snapshot_raw and free_buffer stay closed, and trace and
# snapshot too where opening them would stop the recording.
#
# usage: sh SCRIPT [-o OUT] [-d TRACEFS] [-i INSTANCE]
#   -o OUT       a folder, or a file NAME.tar (default: ringaudit-snapshot)
#   -d TRACEFS   where tracefs is mounted
#   -i INSTANCE  only this instance (top: the top level)
set -u
LC_ALL=C
export LC_ALL
umask 077
nl='
'

say() { printf '%s\n' "ringaudit snapshot: $*" >&2; }
die() {
    code=$1
    shift
    say "$*"
    exit "$code"
}

out=ringaudit-snapshot
dir=
only=
while [ $# -gt 0 ]; do
    case $1 in
    -o | -d | -i)
        [ $# -gt 1 ] || die 2 "$1 needs a value"
        case $1 in
        -o) out=$2 ;;
        -d) dir=$2 ;;
        -i) only=$2 ;;
        esac
        shift 2
        ;;
    *) die 2 "unknown argument $1; usage: sh SCRIPT [-o OUT] [-d TRACEFS] [-i INSTANCE]" ;;
    esac
done
[ ! -e "$out" ] || die 2 "$out exists; give another name or remove it first"

if [ -z "$dir" ]; then
    for d in /sys/kernel/tracing /sys/kernel/debug/tracing; do
        if [ -d "$d/per_cpu" ]; then
            dir=$d
            break
        fi
    done
    [ -n "$dir" ] || die 4 "no tracefs that can be read; as root: mount -t tracefs nodev /sys/kernel/tracing, or give -d TRACEFS"
fi
[ -d "$dir/per_cpu" ] || die 4 "$dir has no per_cpu folder: it is no tracefs, or it cannot be read"

tmp=$out.partial.$$
mkdir "$tmp" || die 4 "no place for $tmp"
trap 'rm -rf "$tmp" "$tmp".list' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
closed=$tmp.list
: >"$closed"
failed=0

# not_opened PATH WHY: for the manifest, one line each, a tab between.
not_opened() {
    printf '%s\t%s\n' "$1" "$2" >>"$closed"
    printf '%s\n' "not opened: $1: $2" >&2
}

into() { [ -d "$tmp/${1%/*}" ] || mkdir -p "$tmp/${1%/*}"; }

# small FROM TO: a small file, if it is there. The kernel makes stats anew for
# each read, so that one read takes it.
small() {
    [ -e "$dir/$1" ] || return 0
    into "$2"
    case $1 in
    *stats) dd if="$dir/$1" of="$tmp/$2" bs=65536 count=1 2>/dev/null && return 0 ;;
    *) cat "$dir/$1" >"$tmp/$2" 2>/dev/null && return 0 ;;
    esac
    rm -f "$tmp/$2"
    case /$1 in # what an audit cannot do without
    */per_cpu/* | */buffer_size_kb | */buffer_subbuf_size_kb | */header_page | */kprobe_* | */overwrite | */trace_clock | */trace_options | */tracing_on)
        failed=$((failed + 1))
        ;;
    esac
    not_opened "${1#./}" "could not be read"
}

word() { [ -e "$dir/$1" ] && cat "$dir/$1" 2>/dev/null; }

# holds INST: some CPU of the instance has events.
holds() {
    for c in "$dir/$1"/per_cpu/cpu*; do
        dd if="$c/stats" bs=65536 count=1 2>/dev/null | grep -q '^entries: *[^ 0]' && return 0
    done
    return 1
}

# text INST TO NAME: trace or snapshot, where opening it has no effect.
text() {
    [ -e "$dir/$1/$3" ] || return 0
    on=$(word "$1/tracing_on")
    if [ -e "$dir/$1/last_boot_info" ] && ! holds "$1"; then
        not_opened "${1#./}/$3" "the buffer is boot-mapped and empty, or its counters cannot be read; some kernels reset it when it is read"
        return 0
    fi
    if [ "$on" != 0 ]; then
        if [ ! -e "$dir/$1/options/pause-on-trace" ]; then
            not_opened "${1#./}/$3" "recording is on and there is no options/pause-on-trace: opening it may stop the recording (kernels before 5.8); set tracing_on to 0 first"
            return 0
        elif [ "$(word "$1/options/pause-on-trace")" != 0 ]; then
            not_opened "${1#./}/$3" "recording is on and options/pause-on-trace is not 0: opening it stops the recording; set one of them to 0 first"
            return 0
        fi
    fi
    into "$2/$3"
    if [ "$on" = 0 ]; then
        cat "$dir/$1/$3" >"$tmp/$2/$3" 2>/dev/null && return 0
    else
        # The kernel goes on printing what is being recorded, and may never end.
        dd if="$dir/$1/$3" of="$tmp/$2/$3" bs=65536 count=16384 2>/dev/null && return 0
    fi
    failed=$((failed + 1))
    not_opened "${1#./}/$3" "read in part"
}

# each INST TO: what is copied of an instance, but the texts.
settings() {
    for f in buffer_percent buffer_size_kb buffer_subbuf_size_kb buffer_total_size_kb current_tracer \
        dynamic_events error_log events/header_event events/header_page kprobe_events kprobe_profile \
        last_boot_info saved_cmdlines_size set_event set_event_notrace_pid set_event_pid set_ftrace_filter \
        set_ftrace_notrace set_ftrace_notrace_pid set_ftrace_pid synthetic_events timestamp_mode trace_clock \
        trace_options tracing_cpumask tracing_max_latency tracing_on tracing_thresh uprobe_events uprobe_profile; do
        small "$1/$f" "$2/$f"
    done
    for f in "$dir/$1"/options/* "$dir/$1"/per_cpu/cpu*/buffer_size_kb; do
        [ -e "$f" ] && small "${f#"$dir/"}" "$2/${f#"$dir/$1/"}"
    done
    for f in events/header_page events/header_event; do
        [ -e "$dir/$1/$f" ] || small "./$f" "$2/$f"
    done
    for f in trace_pipe free_buffer per_cpu/cpu0/trace_pipe per_cpu/cpu0/trace_pipe_raw per_cpu/cpu0/snapshot_raw; do
        [ -e "$dir/$1/$f" ] || continue
        why='reading it consumes events'
        [ "$f" = free_buffer ] && why='closing it shrinks the buffer'
        case $f in per_cpu/*) f=per_cpu/cpu*/${f##*/} ;; esac
        f=$1/$f
        not_opened "${f#./}" "$why"
    done
}

stats() {
    for f in "$dir/$1"/per_cpu/cpu*; do
        f=${f#"$dir/$1/"}
        small "$1/$f/stats" "$2/$f/stats"
    done
}

# The instances, one a line; where they go is the same place, or, without the
# top level, a folder of the name.
list=.
for d in "$dir"/instances/*/; do
    [ -d "$d" ] || continue
    d=${d%/}
    case $d in *"$nl"*) continue ;; esac
    list=$list${nl}instances/${d##*/}
done
if [ -n "$only" ]; then
    case $only in
    top) list=. ;;
    *)
        [ -d "$dir/instances/$only/per_cpu" ] || die 2 "there is no instance $only"
        list=instances/$only
        ;;
    esac
fi
# to INST: its folder in the bundle.
to() {
    if [ -n "$only" ] && [ "$1" != . ]; then
        printf '%s' "${1#instances/}"
    else
        printf '%s' "$1"
    fi
}
# every COMMAND: runs it for each instance.
every() {
    oldifs=$IFS
    IFS=$nl
    set -f
    for inst in $list; do
        IFS=$oldifs
        set +f
        "$1" "$inst"
        IFS=$nl
        set -f
    done
    IFS=$oldifs
    set +f
}
first() { stats "$1" "$(to "$1")"; }
again() { stats "$1" "again/$(to "$1")"; }
rest() { settings "$1" "$(to "$1")"; }
texts() {
    text "$1" "$(to "$1")" trace
    text "$1" "$(to "$1")" snapshot
}
every first
every again
every rest
printf 'Linux localhost %s %s %s GNU/Linux\n' "$(uname -r)" "$(uname -v)" "$(uname -m)" >"$tmp/uname-a"
[ -r /proc/version ] && cat /proc/version >"$tmp/proc-version"
for f in online possible; do
    [ -r /sys/devices/system/cpu/$f ] && cat /sys/devices/system/cpu/$f >"$tmp/cpu-$f"
done
page=$(getconf PAGESIZE 2>/dev/null || sed -n 's/^KernelPageSize: *\([0-9]*\) kB$/\1/p' /proc/self/smaps 2>/dev/null | sed -n 1p)
case $page in
'' | *[!0-9]*) page= ;;
*)
    [ "$page" -lt 1024 ] && page=$((page * 1024))
    echo "$page" >"$tmp/pagesize"
    ;;
esac
every texts

# The manifest.
# quote TEXT: as it stands in a JSON string, in $quoted.
quote() {
    quoted=$1
    case $1 in
    *[!A-Za-z0-9\ ./_:\;,\(\)*+=@%~-]*) quoted=$(printf '%s' "$1" | tr -d '\001-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g') ;;
    esac
}
if command -v sha256sum >/dev/null 2>&1; then
    {
        printf '{\n  "schema": "ringaudit.bundle/v1",\n  "tool": "ringaudit snapshot script",\n'
        quote "$(uname -r)"
        printf '  "kernel": "%s",\n' "$quoted"
        quote "$(uname -m)"
        printf '  "arch": "%s",\n' "$quoted"
        [ -n "$page" ] && printf '  "page_bytes": %s,\n' "$page"
        printf '  "phases": [\n    {"name": "snapshot", "path": "."},\n    {"name": "again", "path": "again", "repeats": "snapshot"}\n  ],\n'
        printf '  "not_opened": ['
        sep=
        while IFS='	' read -r p why; do
            quote "$p"
            p=$quoted
            quote "$why"
            printf '%s\n    {"path": "%s", "why": "%s"}' "$sep" "$p" "$quoted"
            sep=,
        done <"$closed"
        printf '\n  ],\n  "files": ['
        sep=
        (cd "$tmp" && find . -type f | sort) | while IFS= read -r f; do
            f=${f#./}
            [ "$f" = manifest.json ] && continue
            sum=$(sha256sum <"$tmp/$f")
            quote "$f"
            printf '%s\n    {"path":"%s","bytes":%s,"sha256":"%s"}' "$sep" "$quoted" $(($(wc -c <"$tmp/$f"))) "${sum%% *}"
            sep=,
        done
        printf '\n  ]\n}\n'
    } >"$tmp/manifest.json"
else
    say "no sha256sum here: no manifest is written, and the copy cannot be verified"
fi

case $out in
*.tar)
    (cd "$tmp" && tar cf - .) >"$tmp.tar" || {
        rm -f "$tmp.tar"
        die 4 "$out: tar failed"
    }
    mv "$tmp.tar" "$out" || die 4 "$out could not be written"
    ;;
*) mv "$tmp" "$out" || die 4 "$out could not be written" ;;
esac
printf '%s\n' "$out"
[ "$failed" -eq 0 ] || die 3 "$failed files could not be read"

#!/bin/bash
# Record the block requests of a real PostgreSQL under a steady load: data and WAL on two loop devices,
# the kernel's `blk` tracer in binary mode on both, in one stream.
#
#   sudo ./record.sh OUTPUT_FOLDER
#
# Needs: root, Linux with the `blk` tracer (CONFIG_BLK_DEV_IO_TRACE), loop devices, ext4, the memory cgroup (v1 or v2),
# PostgreSQL 14 to 16 with pgbench, python3, about 8 GB of free disk. Nothing outside SCRATCH and OUTPUT_FOLDER is
# kept; tracer, cgroup, mounts and loop devices are put back at the end, on errors and on Ctrl-C.
# Takes some 5 minutes with the defaults; no step can take longer than its limit.
set -Eeuo pipefail

# ---- what to record --------------------------------------------------------------------------------------------------
PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
PGUSER=${PGUSER:-postgres}               # the server runs as this user, not as root
PORT=${PORT:-5497}
SCRATCH=${SCRATCH:-/var/tmp/tiersim-record}
SCALE=${SCALE:-120}                      # pgbench scale: accounts about 1.7 GB of heap and 0.26 GB of index
FILLFACTOR=${FILLFACTOR:-90}
SHARED_BUFFERS=${SHARED_BUFFERS:-192MB}
MEMORY_MIB=${MEMORY_MIB:-600}            # shared buffers, processes and page cache of the server together
CHECKPOINT_TIMEOUT=${CHECKPOINT_TIMEOUT:-30}
CLIENTS=${CLIENTS:-16}
RATE=${RATE:-220}                        # transactions started per second, Poisson, whatever the response time
WARM=${WARM:-45}                         # seconds of that load before the recording may start
WINDOW=${WINDOW:-92}                     # seconds recorded
REPORT_AT=${REPORT_AT:-50}               # seconds into the window: one sequential report query
READ_AHEAD_KIB=${READ_AHEAD_KIB:-256}     # of both devices
DATA_MIB=${DATA_MIB:-6144}               # image files, sparse
WAL_MIB=${WAL_MIB:-3072}
BUFFER_KIB=${BUFFER_KIB:-16384}          # trace buffer per CPU
REPORT="SELECT bid / 10 AS region, count(*), sum(abalance), stddev(abalance), max(md5(filler || aid)) FROM pgbench_accounts GROUP BY 1 ORDER BY 1"

[ $# = 1 ] || { sed -n '2,12p' "$0"; exit 2; }
[ "$(id -u)" = 0 ] || { echo "record.sh: must be root (loop devices, tracefs)" >&2; exit 1; }
mkdir -p "$1"; OUT=$(cd "$1" && pwd)
[ -x "$PGBIN/postgres" ] || { echo "record.sh: no PostgreSQL in $PGBIN (set PGBIN)" >&2; exit 1; }
[ ! -e "$SCRATCH" ] || { echo "record.sh: $SCRATCH exists; remove it or set SCRATCH" >&2; exit 1; }

# ---- putting everything back -----------------------------------------------------------------------------------------
T=/sys/kernel/tracing
OUR_TRACEFS= NAP_PID= DATA_DEV= WAL_DEV= CGROUP= CAT_PID= BENCH_PID= REPORT_PID= SAVED= SERVER=
as_server() { runuser -u "$PGUSER" -- "$@"; }
finish() {
    local status=$?
    trap - EXIT; trap '' INT TERM HUP; set +e
    for p in $NAP_PID $REPORT_PID $BENCH_PID; do kill "$p" 2>/dev/null; done
    for p in $NAP_PID $REPORT_PID $BENCH_PID; do wait "$p" 2>/dev/null; done
    if [ -n "$SAVED" ]; then
        for d in $DATA_DEV $WAL_DEV; do echo 0 > "/sys/block/${d#/dev/}/trace/enable"; done
        echo 0 > $T/tracing_on
        [ -n "$CAT_PID" ] && kill "$CAT_PID" 2>/dev/null && wait "$CAT_PID" 2>/dev/null
        tracer_back
    fi
    [ -n "$OUR_TRACEFS" ] && umount $T
    [ -n "$SERVER" ] && (cd / && as_server timeout 60 "$PGBIN/pg_ctl" -D "$SCRATCH/data/pg" -m immediate -w stop) > /dev/null 2>&1
    if [ -n "$CGROUP" ]; then for _ in 1 2 3 4 5 6 7 8 9 10; do rmdir "$CGROUP" 2>/dev/null && break; sleep 0.5; done; fi
    for m in wal data; do mountpoint -q "$SCRATCH/$m" && umount "$SCRATCH/$m"; done
    for d in $WAL_DEV $DATA_DEV; do losetup -d "$d"; done
    if mountpoint -q "$SCRATCH/data" || mountpoint -q "$SCRATCH/wal"; then echo "record.sh: $SCRATCH is still mounted" >&2; else rm -rf "$SCRATCH"; fi
    exit "$status"
}
tracer_back() { # options first, then the clock and the buffer, the tracer at the end
    local o v
    while read -r o v; do echo "$v" > "$T/$o"; done < "$SAVED"
    echo > $T/trace
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'echo "record.sh: failed in line $LINENO" >&2' ERR
nap() { sleep "$1" & NAP_PID=$!; wait "$NAP_PID"; NAP_PID=; } # a signal ends the wait at once
say() { echo "$(date +%T) $*"; }

# ---- two devices, two file systems -----------------------------------------------------------------------------------
install -d -m 0755 "$SCRATCH" "$SCRATCH/data" "$SCRATCH/wal" "$SCRATCH/log"
chown "$PGUSER" "$SCRATCH/log"
truncate -s "${DATA_MIB}M" "$SCRATCH/data.img"
truncate -s "${WAL_MIB}M" "$SCRATCH/wal.img"
attach() { losetup --find --show --direct-io=on "$1" 2>/dev/null || losetup --find --show "$1"; }
DATA_DEV=$(attach "$SCRATCH/data.img")
WAL_DEV=$(attach "$SCRATCH/wal.img")
for d in "$DATA_DEV" "$WAL_DEV"; do
    [ -d "/sys/block/${d#/dev/}/trace" ] || { echo "record.sh: no block tracing on $d in this kernel" >&2; exit 1; }
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$d"
    echo "$READ_AHEAD_KIB" > "/sys/block/${d#/dev/}/queue/read_ahead_kb"
done
mount_both() { mount -o noatime "$DATA_DEV" "$SCRATCH/data"; mount -o noatime "$WAL_DEV" "$SCRATCH/wal"; }
mount_both
chown "$PGUSER" "$SCRATCH/data" "$SCRATCH/wal"

# ---- the cluster -----------------------------------------------------------------------------------------------------
cd /
say "initdb"
as_server timeout 120 "$PGBIN/initdb" -D "$SCRATCH/data/pg" -X "$SCRATCH/wal/pg_wal" -A trust -E UTF8 --locale=C > "$SCRATCH/log/initdb"
cat >> "$SCRATCH/data/pg/postgresql.conf" <<CONF
port = $PORT
listen_addresses = ''
unix_socket_directories = '$SCRATCH/log'
shared_buffers = '$SHARED_BUFFERS'
huge_pages = off
max_connections = 50
synchronous_commit = on
full_page_writes = on
wal_compression = off
min_wal_size = '1GB'
max_wal_size = '2GB'
checkpoint_timeout = '${CHECKPOINT_TIMEOUT}s'
checkpoint_completion_target = 0.9
log_checkpoints = on
log_line_prefix = '%m '
log_timezone = 'UTC'
track_io_timing = on
track_wal_io_timing = on
max_parallel_workers_per_gather = 0
work_mem = '64MB'
CONF
start_server() {
    as_server timeout 120 "$PGBIN/pg_ctl" -D "$SCRATCH/data/pg" -l "$SCRATCH/log/server" -w -t 100 start > /dev/null
}
stop_server() { as_server timeout 180 "$PGBIN/pg_ctl" -D "$SCRATCH/data/pg" -m fast -w -t 170 stop > /dev/null; }
sql() { as_server timeout "${3:-60}" psql -X -q -h "$SCRATCH/log" -p "$PORT" -U "$PGUSER" -d "${2:-bench}" -A --csv -c "$1"; }
bench() { # LIMIT ARGUMENTS: becomes pgbench, so call it in a subshell
    local limit=$1; shift
    exec runuser -u "$PGUSER" -- timeout "$limit" "$PGBIN/pgbench" -h "$SCRATCH/log" -p "$PORT" -U "$PGUSER" "$@" bench
}
SERVER=1
start_server
sql "CREATE DATABASE bench" postgres
say "loading, scale $SCALE"
( bench 600 -i -q -s "$SCALE" -F "$FILLFACTOR" ) > "$SCRATCH/log/load" 2>&1 & BENCH_PID=$!
wait "$BENCH_PID"; BENCH_PID=
sql "CHECKPOINT" bench 300
stop_server
# Unmounting forgets the cached pages of these two file systems only: no drop_caches for the whole machine.
umount "$SCRATCH/wal" "$SCRATCH/data"; mount_both

# ---- the server with little memory ------------------------------------------------------------------------------------
if [ -d /sys/fs/cgroup/memory ]; then
    mkdir /sys/fs/cgroup/memory/tiersim-record; CGROUP=/sys/fs/cgroup/memory/tiersim-record
    echo $((MEMORY_MIB << 20)) > $CGROUP/memory.limit_in_bytes
else
    grep -qw memory /sys/fs/cgroup/cgroup.controllers
    mkdir /sys/fs/cgroup/tiersim-record; CGROUP=/sys/fs/cgroup/tiersim-record
    grep -qw memory /sys/fs/cgroup/cgroup.subtree_control || echo +memory > /sys/fs/cgroup/cgroup.subtree_control
    echo $((MEMORY_MIB << 20)) > $CGROUP/memory.max
fi
( echo $BASHPID > "$CGROUP/cgroup.procs"; start_server )
say "warming the caches"
( bench 60 -n -S -M prepared -c "$CLIENTS" -j 2 -T 20 ) > /dev/null 2>&1 & BENCH_PID=$!
wait "$BENCH_PID"; BENCH_PID=
say "load of $RATE transactions/s"
LIMIT=$((WARM + 2 * CHECKPOINT_TIMEOUT + WINDOW + 10))
( bench $((LIMIT + 30)) -n -M prepared -b tpcb-like -c "$CLIENTS" -j 2 -R "$RATE" -T "$LIMIT" -l --log-prefix="$SCRATCH/log/tx" ) > "$SCRATCH/log/pgbench" 2>&1 &
BENCH_PID=$!
nap "$WARM"

# ---- the tracer --------------------------------------------------------------------------------------------------------
if [ ! -e $T/current_tracer ]; then mount -t tracefs tracefs $T; OUR_TRACEFS=1; fi
[ "$(cat $T/current_tracer)" = nop ] || { echo "record.sh: another tracer is at work: $(cat $T/current_tracer)" >&2; exit 1; }
grep -qw blk $T/available_tracers || { echo "record.sh: this kernel has no blk tracer" >&2; exit 1; }
{   echo "options/bin $(cat $T/options/bin)"
    echo "options/context-info $(cat $T/options/context-info)"
    echo "trace_clock $(sed 's/.*\[\(.*\)\].*/\1/' $T/trace_clock)"
    echo "buffer_size_kb $(sed 's/ .*//' $T/buffer_size_kb)"
    echo "saved_cmdlines_size $(cat $T/saved_cmdlines_size)"
    echo "tracing_on $(cat $T/tracing_on)"
    echo "current_tracer nop"
} > "$SCRATCH/log/tracefs"
SAVED=$SCRATCH/log/tracefs
echo 0 > $T/tracing_on
echo mono > $T/trace_clock
echo blk > $T/current_tracer
echo 0 > $T/options/blk_classic
echo 1 > $T/options/bin
echo 0 > $T/options/context-info
echo "$BUFFER_KIB" > $T/buffer_size_kb
echo 8192 > $T/saved_cmdlines_size
echo > $T/trace
for d in "$DATA_DEV" "$WAL_DEV"; do echo 1 > "/sys/block/${d#/dev/}/trace/enable"; done
cat $T/trace_pipe > "$SCRATCH/stream.bin" & CAT_PID=$!

snapshot() {
    sql "SELECT * FROM pg_stat_wal" > "$OUT/pg_stat_wal.$1.csv"
    sql "SELECT * FROM pg_stat_bgwriter" > "$OUT/pg_stat_bgwriter.$1.csv"
    sql "SELECT datname, xact_commit, xact_rollback, blks_read, blks_hit, tup_returned, tup_fetched, tup_inserted, tup_updated, blk_read_time, blk_write_time FROM pg_stat_database WHERE datname = 'bench'" > "$OUT/pg_stat_database.$1.csv"
    sql "SELECT relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit FROM pg_statio_user_tables ORDER BY 1" > "$OUT/pg_statio_user_tables.$1.csv"
    date -u +%FT%T.%NZ > "$OUT/taken.$1"
}
roles() { sql "SELECT pid, backend_type || CASE application_name WHEN 'report' THEN ' (report)' ELSE '' END FROM pg_stat_activity" >> "$SCRATCH/log/roles"; }
# Begin three seconds before a checkpoint, so that the window holds whole ones.
started() { grep -c 'checkpoint starting' "$SCRATCH/log/server" || true; }
n=$(started); for _ in $(seq $((CHECKPOINT_TIMEOUT * 5 + 50))); do [ "$(started)" -gt "$n" ] && break; nap 0.2; done
nap $((CHECKPOINT_TIMEOUT - 3))
snapshot before
roles
python3 -c "import time; print('realtime_ns', time.clock_gettime_ns(time.CLOCK_REALTIME)); print('monotonic_ns', time.clock_gettime_ns(time.CLOCK_MONOTONIC))" > "$SCRATCH/log/clock"
echo 1 > $T/tracing_on
say "recording $WINDOW s"
nap "$REPORT_AT"
( t=$(date +%s%N); date -u +%FT%T.%NZ > "$OUT/report.txt"; PGAPPNAME=report sql "$REPORT" bench 120 > /dev/null; echo "$(( ($(date +%s%N) - t) / 1000000 )) ms" >> "$OUT/report.txt" ) & REPORT_PID=$!
nap 2
roles
nap $((WINDOW - REPORT_AT - 2))
roles
for d in "$DATA_DEV" "$WAL_DEV"; do echo 0 > "/sys/block/${d#/dev/}/trace/enable"; done
echo 0 > $T/tracing_on
snapshot after
sed -n '/checkpoint starting: time/,$p' "$SCRATCH/log/server" | grep checkpoint > "$OUT/checkpoints.txt"
sleep 1                                  # let the last records drain
kill "$CAT_PID"; wait "$CAT_PID" 2>/dev/null || true; CAT_PID=
cp $T/saved_cmdlines "$SCRATCH/log/cmdlines"
for c in $T/per_cpu/cpu*; do echo "${c##*/}"; grep -E 'entries|overrun|dropped' "$c/stats"; done > "$OUT/tracer_stats.txt"
wait "$BENCH_PID" || true; BENCH_PID=
wait "$REPORT_PID" || true; REPORT_PID=
cp "$SCRATCH/log/pgbench" "$OUT/pgbench.txt"
cat "$SCRATCH"/log/tx.* > "$SCRATCH/log/alltx"
for d in "$DATA_DEV" "$WAL_DEV"; do echo "$(cat "/sys/block/${d#/dev/}/dev") $( [ "$d" = "$DATA_DEV" ] && echo data || echo wal ) $(cat "/sys/block/${d#/dev/}/size") sectors, read-ahead $(cat "/sys/block/${d#/dev/}/queue/read_ahead_kb") KiB, largest request $(cat "/sys/block/${d#/dev/}/queue/max_sectors_kb") KiB, scheduler $(cat "/sys/block/${d#/dev/}/queue/scheduler"), direct IO $(cat "/sys/block/${d#/dev/}/loop/dio")"; done > "$OUT/devices.txt"
[ -z "${KEEP_STREAM:-}" ] || cp -r "$SCRATCH/stream.bin" "$SCRATCH/log" "$KEEP_STREAM"

# ---- from the stream to the file ---------------------------------------------------------------------------------------
say "packing"
python3 - "$SCRATCH" "$OUT" "$WINDOW" <<'PACK'
"""Keep what pairs requests (Q M F R D C X), name the processes, compress; and the latencies pgbench saw in the window."""
import bisect, lzma, struct, sys

scratch, out, window = sys.argv[1], sys.argv[2], int(sys.argv[3])
log = scratch + "/log/"
RECORD = struct.Struct("<IIQQIIIIIHH")
MAGIC, NOTIFY_PROCESS, NOTIFY_TIMESTAMP = 0x65617407, 0x0400_0000, 0x0400_0001
KEEP = {1, 2, 3, 6, 7, 8, 13}  # Q M F R D C X; dropped: G S P U UT I (allocation, plugging, scheduler)
KNOWN = ("postgres", "pgbench", "psql", "kworker", "ksoftirqd", "swapper", "jbd2", "kswapd", "loop", "kcompactd")

clock = {k: int(v) for k, v in (line.split() for line in open(log + "clock"))}
begin, end = clock["monotonic_ns"], clock["monotonic_ns"] + window * 10**9
names = {0: "swapper"}
for line in open(log + "cmdlines"):
    pid, _, name = line.strip().partition(" ")
    names[int(pid)] = name if name.startswith(KNOWN) else "other"
roles = {}
for line in open(log + "roles"):
    pid, _, role = line.strip().partition(",")
    if pid.isdigit():
        roles[int(pid)] = role

data = open(scratch + "/stream.bin", "rb").read()
body, seen, total, kept, at = bytearray(), set(), 0, 0, 0
while at + RECORD.size <= len(data):
    r = RECORD.unpack_from(data, at)
    if r[0] & 0xFFFFFF00 != 0x65617400:
        sys.exit(f"record.sh: no blktrace record at byte {at}")
    after = at + RECORD.size + r[10]
    total += 1
    if r[5] & 0xFF in KEEP and begin <= r[2] < end:
        if (r[6], r[7]) not in seen:  # as blktrace(8) would: the name before a process's first record on a device
            seen.add((r[6], r[7]))
            body += RECORD.pack(MAGIC, 0, r[2], 0, 0, NOTIFY_PROCESS, r[6], r[7], r[8], 0, 16)
            body += names.get(r[6], "<...>").encode()[:15].ljust(16, b"\0")
        body += data[at:after]
        kept += 1
    at = after
wall = clock["realtime_ns"]
head = RECORD.pack(MAGIC, 0, begin, 0, 0, NOTIFY_TIMESTAMP, 0, 0, 0, 0, 8) + struct.pack("<II", wall // 10**9, wall % 10**9)
raw = head + bytes(body)
best = min(
    (
        lzma.compress(raw, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, filters=f)
        for f in (
            [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}],
            [{"id": lzma.FILTER_DELTA, "dist": 48}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 4, "pb": 4}],
        )
    ),
    key=len,
)
open(out + "/pgbench.blktrace.xz", "wb").write(best)
with open(out + "/processes.csv", "w") as f:
    f.write("pid,name,role\n")
    for pid in sorted({p for p, _ in seen if p in roles or names.get(p, "other") != "other"}):
        f.write(f"{pid},{names.get(pid, '<...>')},{roles.get(pid, '')}\n")

# pgbench -l with -R: client transaction latency_us script epoch_s epoch_us lag_us; the latency includes the lag
first, last = wall // 1000, wall // 1000 + window * 10**6
rows = [x for x in (tuple(map(int, line.split()[:7])) for line in open(log + "alltx") if "skipped" not in line) if first <= x[4] * 10**6 + x[5] < last]
whole, served = sorted(x[2] for x in rows), sorted(x[2] - x[6] for x in rows)
def q(v, p): return v[min(len(v) - 1, int(p * len(v)))] / 1000
with open(out + "/latency_ms.csv", "w") as f:
    f.write("statistic,from_schedule,from_start\n")
    f.write(f"transactions,{len(rows)},{len(rows)}\ntps,{len(rows) / window:.2f},{len(rows) / window:.2f}\nmean,{sum(whole) / len(whole) / 1000:.3f},{sum(served) / len(served) / 1000:.3f}\n")
    for p in (0.5, 0.9, 0.95, 0.99, 0.999):
        f.write(f"p{p * 100:g},{q(whole, p):.3f},{q(served, p):.3f}\n")
    f.write(f"max,{whole[-1] / 1000:.3f},{served[-1] / 1000:.3f}\n")
print(f"{total} records in the stream, {kept} kept, {len(raw)} bytes, {len(best)} compressed")
PACK
say "done: $OUT"

"""The arrays that devices live in.

A device is a row in the table of its kind; a station is what the engine sees of it: a queue, servers and four functions
(:mod:`tiersim.devices.station`). Everything is int64: times in ns, angles in ps of rotation, sizes in bytes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import table_set

#: Kinds of station; a station's ``kind`` selects its four functions.
DRIVE, FLASH, BUCKET, ARRAY, SERVER, PARITY, STRIPES, GATE, PORT, FILES = range(10)
NEIGHBOUR, REBUILD, FLASH_CACHE, TIERS, ROUTE, WRITE_CACHE, SHARES, HELD_FLASH, UPKEEP = range(10, 19)
KIND_NAMES = (
    "hdd",
    "flash",
    "token bucket",
    "array",
    "server",
    "parity array",
    "stripes",
    "gate",
    "port",
    "file system",
    "neighbour",
    "rebuild",
    "flash cache",
    "tiers",
    "route",
    "write cache",
    "shares",
    "flash",  # whose commands are held back
    "upkeep",
)

NONE = (1 << 32) - 1  # no slot, no station: indices are unsigned
NEVER = 1 << 62  # later than any event

#: Answers of ``accept`` besides the time at which a request that starts at once is done.
CALL = 0  # it waits, and might start now: call the station's ``choose`` at this instant
WAIT = -1  # it waits for a service here to end

#: Time that a station takes to pass a request on when nothing says how long: none but the rule that every service takes
#: at least 1 ns.
PASS_ON_NS = 1

#: How many resources of a station are accounted apart (a drive has one, flash has six).
RESOURCES = 6


def _record(*names: str, indices: tuple[str, ...] = ()) -> np.dtype[Any]:
    """Record of int64 fields, but for *indices*: unsigned, so that the compiler leaves out the test for negative ones.

    That test stood in 200 places of the event loop and cost a seventh of its speed.
    """
    return np.dtype([(name, np.uint32 if name in indices else np.int64) for name in names], align=True)


#: One row per request that is in the plant. The engine writes it, devices read it.
REQUEST = _record(
    "number",  # order of creation: the last word when two events tie
    "op",
    "offset_bytes",  # within the station that it is at
    "length_bytes",
    "accepted_ns",  # when the station took it
    "station",
    "parent",  # slot of the request that it is a part of, or NONE
    "pending",  # children that are not done
    "row",  # which arrival it came from; NONE for children
    "stream",  # whose next command may have waited for it; NONE when commands come by the clock
    "intended_ns",  # when it should have started: latency counts from here
    "category",  # what it is accounted under, with all its parts; NONE: background
    "interval",  # of its intended start, in the timeline
    indices=("station", "parent", "stream", "category", "interval"),
)

#: One row per slot, beside REQUEST. The device that holds the request writes it.
LINK = _record(
    "next",
    "zone",
    "cylinder",
    "track",
    "angle_ps",
    "transfer_ps",
    "within",  # the track
    "end_track",
    indices=("next", "zone", "within", "end_track"),
)

#: One more row per slot, for stations that hold a request while its parts are under way below.
HOLD = _record(
    # up to where an array has read, or a port, a cache or tiers have cut; at a flash drive: when it can go to its die
    "position",
    # of a row that is written in part, or of a copy: reading or writing; of a page of upkeep: read or worked on;
    # at a gate: alone or joined to another;
    # at a flash drive: plane of its chip, NONE for several
    "phase",
    # at a cache: whether what it misses is taken in; at a flash drive: number of its page in the block
    "row",
    "low_bytes",  # what parity of the row it touches, within a unit; at a cache: where what is under way begins
    "high_bytes",
    "blockers",  # earlier writes that it waits for
    "carried_bytes",  # length with all that travel with it
    "joined",  # first of those
    "last_joined",
    "chain",  # next in the list that it is looked up in
    "ahead",  # the one before it in that list, where there is one
    indices=("joined", "last_joined", "chain", "ahead"),
)

#: A first-come list of slots.
QUEUE = _record("head", "tail", "length", indices=("head", "tail"))

#: What the engine knows of a station. The engine writes it (``busy_ns`` apart: see WORK), devices read ``outstanding``.
STATION = _record(
    "kind",
    "row",
    "outstanding",
    "waiting",  # of them, not started yet
    "changed_ns",  # when outstanding changed last
    "area_ns",  # integral of outstanding over time
    "residence_ns",  # sum of the times that finished requests spent here
    "accepted",
    "finished",
    "marked",  # waits for its dispatch at this instant
    "timer_ns",  # when its timer goes off, or NEVER
    indices=("kind", "row"),
)

DRIVE_ROW = _record(
    "queue",
    "busy",
    "cylinder",  # where the arm is
    "track",  # cylinder x surfaces + head
    "revolution_ps",
    "phase_ps",  # angle under the head at time 0
    "surfaces",
    "serpentine",  # 1: every other cylinder is written from its last surface to its first
    "first_zone",  # index into ZONE
    "zones",
    "zone_hint",  # index into the pool: zone of each run of 2^hint_shift sectors
    "hint_shift",
    "seek_table",  # index into the pool: seek time in ns by distance in cylinders
    "write_settle_ns",
    "head_switch_ns",
    "scatter_ns",  # standard deviation of the moves of the arm and the heads; 0: each takes the same time
    "turn_chances",  # index into the pool: how likely such a move is late, see hdd_kernels
    "moves",  # whose end was drawn so far
    "read_overhead_ns",  # of a command that needs the arm
    "write_overhead_ns",
    "flush_ns",
    "queue_depth",  # how many commands the drive sees at once
    "rule",  # of the scheduler: BY_TIME and so on
    "age_limit_ns",  # a command that waited longer goes first
    # from here on: the buffer on board
    "segments",  # how many; 0: there is no buffer
    "first_segment",  # index into SEGMENT
    "segment_sectors",
    "uses",  # of any segment so far
    "interface_ps",  # time of a sector between buffer and host, when it is read
    "write_interface_ps",  # and written
    "times",  # index into the pool: what commands take, see hdd_buffer_kernels
    "mark_millionths",  # of a read that are in the buffer before data go to the host
    "mark_sectors",  # or so many
    "write_move_least_ns",  # of a write that ends on the platter
    "extra_disconnect",  # 1: the drive lets the bus go before it takes the data of a write behind another
    "write_apart",  # 1: what is written takes no segment of those that reads are served from
    "write_oldest",  # 1: it takes the segment that was used longest ago, not the one that was used last
    "after_write",  # 1: the last command was a write
    "arm_free_ns",  # when what the arm does by itself, or did last, ends
    "hits_wait",  # 1: a read from the buffer waits for the write that the arm is at
    "writes_wait",  # 1: and so does a write into it
    "read_ahead",  # how far, see hdd_buffer_kernels
    "ahead_most_sectors",  # beyond the request; 0: the segment is the limit
    "adaptive",  # 1: only when a read goes on where the one before it ended
    "awaits_ahead",  # 1: a read waits for what the read-ahead comes to soon
    "ahead_after_hit",  # 1: a read from the buffer lets the read-ahead go on
    "ahead_segment",  # that is being read into, or NONE
    "ahead_ns",  # the arm has been free to read `ahead_sector` since then
    "ahead_sector",
    "ahead_limit",
    "switched_ns",  # when the heads are on the track that is read ahead next
    "read_end",  # sector after the last read
    "write_end",  # and write
    "write_segments",  # writes that wait for the arm in the buffer; 0: a write ends on the platter
    "first_write",  # index into DIRTY
    "writes",  # how many wait
    "destage_ns",  # time of the destage that the arm does or did last and that is not accounted yet
    indices=("queue", "ahead_segment"),
)

#: A run of sectors that lie one behind the other on the tracks of a zone.
ZONE = _record(
    "first_sector",
    "end_sector",
    "first_physical",  # where the run begins, in sectors from the zone's first track
    "first_cylinder",  # of the zone
    "flip",  # parity of the cylinders that are written upwards, on a serpentine drive
    "sectors_per_track",
    "sector_ps",
    "first_angle_ps",  # of the zone's first sector
    "track_skew_ps",  # angle from one surface's first sector to the next one's
    "cylinder_skew_ps",  # and from one cylinder's to the next one's
)

#: What is in a drive's buffer.
SEGMENT = _record(
    "first_sector",
    "end_sector",
    "used",
    "asked_sector",  # up to which the arm's time is counted: what was read ahead of the host's reads lies behind it
)

#: A write that waits in a drive's buffer for the arm.
DIRTY = _record(
    "first_sector",
    "sectors",
    "ready_ns",  # when the arm may go there
    "data_ns",  # when its first sector may be written: the others come before the head does
)

FLASH_ROW = _record(
    "queue",
    "in_service",
    "queue_depth",
    "ftl",  # row of FTL, or NONE: then what is written lies where its address says
    "unit_bytes",  # of the mapping
    "page_units",  # that a die senses at once
    "planes",  # that a page is spread over; what waits on several of them is sensed together
    "spread",  # dies that consecutive units lie on before the first one gets its next
    "channels",
    "dies",  # of all channels
    "reads",  # index into the pool: sensing times, equally likely
    "read_kinds",  # how many of them there are
    "patch_ns",  # their mean: a unit that is written in part may lie on any page
    "program_ns",
    "program_units",  # that one program writes
    "suspend_ns",  # a read waits for a program no longer than this
    "static",  # 1: a unit is written to the die that its address names, 0: to the next one in turn
    "copies_q16",  # units that collection copies for each one written, in 1/65536
    "erases_q32",  # blocks that it erases for each one written, in 1/2^32
    "copy_ns",  # die time of a copied unit
    "erase_ns",
    "unit_channel_ns",
    "link_ps_per_byte",
    "write_link",  # column of work_ns for what is written: that of what is read, if the link is half duplex
    "buffer_ps_per_byte",
    "controller_ns",  # serial: 1 / its highest rate
    "read_latency_ns",  # fixed, beside the parts above
    "write_latency_ns",
    "flush_ns",
    "flush_interval_ns",  # flushes end no closer to each other
    "protected",  # 1: the buffer survives a power loss, so a flush does not drain it
    "flushes_alone",  # 1: a flush is under way with no other command
    "buffer_units",  # 0: a write ends on flash
    "host_cpu_ns",
    "host_threads",
    "place_source",  # of the random numbers that say from which die on each row of pages lies
    # from here on: what changes
    "units_buffered",  # counts up: ring position
    "programs",  # counts up: next die
    "filled_units",  # of the program that is being gathered
    "filled_ns",  # when the last of them was in the buffer
    "patched_units",  # of them that must be read first: they were written in part
    "controller_free_ns",
    "link_free_ns",
    "write_link_free_ns",  # of a full-duplex link
    "to_buffer_free_ns",
    "last_program_ns",
    "last_flush_ns",
    "flushing",  # 1: the command that was taken last is a flush
    "calendars",  # index into the pool: what the channels have been promised to, see flash_kernels
    "sense_start",  # of the last planned sensing; one entry a die
    "sensed",  # when it is over
    "sensing_planes",  # a bit for each
    "registers",  # page that is in them; one entry a plane of each die
    "read_free",  # one entry a die
    "program_free",  # one entry a die
    "passed",  # when its channel has done what has no place yet for it; one entry a die
    "programmed_after",  # how long after that the last of its programs ends, before its copies; one entry a die
    "free_after",  # how long after that it is free; one entry a die
    "copies_owed",  # by each die, in 1/65536
    "erases_owed",  # by each die, in 1/2^32
    "buffer_free",  # index into the pool: when units of the buffer are free, see flash_kernels
    "host_free",  # one entry a thread of the host's driver
    # of a drive that holds commands back:
    "held",  # 1: it does
    "held_reads",  # queue of the first die; one a die
    "held_writes",  # likewise
    "held_sensed",  # of the first channel: reads that the channel is to transfer, as they are sensed; one a channel
    "held_buffer",  # queue of writes that wait for the buffer
    "units_held",  # in the buffer
    "with_data",  # 1: a die senses, or has what it sensed; one entry a die
    "turns",  # which of its dies each channel looks at first
    # of a drive with a cache of cells that take one bit; program_ns and program_units are those of the next program:
    "slc_units",  # that it holds; 0: there is none
    "slc_free_units",
    "slc_program_ns",
    "slc_program_units",
    "slc_folds",  # SLC cache full: 1, writes go into it and other units move out; 0, writes go past it
    "slc_idle_ns",  # so long after its last work the drive begins to move out what is there
    "slc_erases_q32",  # blocks of the cache that are erased for each unit that is moved out, in 1/2^32
    "fold_ps",  # of a unit, all dies at work
    "dense_program_ns",  # of a program past the cache
    "dense_program_units",
    "into_slc",  # 1: the next program goes there
    "busy_until_ns",  # when the last command was done
    "program_took",  # time of the last program; one entry a die
    # of a drive that reads ahead into its memory:
    "ahead_units",  # 0: it does not
    "units",  # that there are
    "ahead_ready",  # index into the pool: when each of them is there, a ring by unit
    "stream_end",  # unit behind the last read
    "ahead_end",  # and behind what was read ahead
    # of a drive that holds commands back, too:
    "held_joined",  # queue of what the last command took besides its own
    "chip_dies",  # that a chip, which is a die here, has
    "chip_planes",  # that each of those has
    "filled_pages",  # pages of the open block that are filled; one entry a plane of each chip
    "block_pages",
    "program_command_ns",  # that a channel takes for a command to program, before the data
    indices=("queue", "ftl", "held_reads", "held_writes", "held_sensed", "held_buffer", "held_joined"),
)

#: A page-mapped flash translation layer. Places of units are counted over the blocks of all dies, one after the other.
FTL_ROW = _record(
    "logical_units",
    "block_units",
    "dies",
    "die_blocks",
    "greedy",  # 1: the block with the fewest valid units is cleaned; 0: the one that was filled longest ago
    "most_valid",  # units that a die may hold; more go to the next die
    "places",  # index into units: where each logical unit lies, plus 1; 0: nowhere
    "holds",  # index into units: the logical unit last written to each place
    "lists",  # of blocks, of a die
    "first_list",  # index into MAPPED_BLOCK: the heads of the lists of all dies, then the blocks
    "first_block",
    "first_die",  # index into FTL_DIE
    "host_units",  # written
    "copied_units",
    "erased_blocks",
)

FTL_DIE = _record(
    "active",  # block that is being filled
    "filled_units",  # of it
    "victim",  # block that is being cleaned, or NONE
    "scanned_units",  # of it
    "free_blocks",
    "valid_units",
    "lowest",  # no sealed block has fewer valid units, if the collector is greedy
)

#: An erase block and the head of a list of them; a block that is being filled or cleaned is in none.
MAPPED_BLOCK = _record(
    "valid_units",
    "newer",  # in its list, by when it came there
    "older",
    indices=("newer", "older"),
)

BUCKET_ROW = _record(
    "read_queue",
    "write_queue",
    "read_requests",  # index into ALLOWANCE, or NONE for no limit
    "read_bytes",
    "write_requests",
    "write_bytes",
    "refill_interval_ns",
    "latency_ns",
    "flush_ns",
    "free_flushes",  # a flush takes no token
    "unit_bytes",  # a request costs one token for each begun unit; 0: one token whatever its size
    "merged_bytes",  # one of this length or more counts with the one that it follows; 0: none does
    "run_op",  # of those that followed each other
    "run_bytes",
    "run_end_bytes",
    "below",  # station that requests go on to, or NONE
    "shared",  # 1: by volumes; requests go on to the station behind the port that they came through
    "takes_turns",  # 1: between the writes of different makers
    "last_maker",  # station whose write went last
    indices=("read_queue", "write_queue", "last_maker"),
)

#: Tokens are counted in parts, as a rule in billionths, so that a rate per second times an interval in ns is exact.
ALLOWANCE = _record(
    "rate_per_s",
    "parts",  # of a token
    "per_refill",
    "ceiling",
    "level",
    "start",  # level at time 0
    "refills_seen",
    "wanted_refill",  # that a request waits for: what comes until then does not lapse
    "short_ns",  # when a request first had to wait for it, or NEVER
    "short_until_ns",  # up to when such waits are added up
    "behind",  # another allowance that has to cover the same requests, or NONE
    "resource",  # column of work_ns for the time in which a request waits for it, or NONE
    "earning",  # column of work_ns for the time that earns what is taken from it, or NONE
)

#: Members are in the pool from ``first_member`` on, NONE where there is none; ``filled``: index of up to where each
#: holds its data.
ARRAY_ROW = _record(
    "stripe_bytes",
    "members",
    "first_member",
    "filled",
    "columns",
    "copies",
    "last_read",  # index into the pool: which copy of each column read last
    "balance",  # which copy reads: FEWEST and so on
    "ends",  # index into the pool: where the last request of each member ended, if that matters
    "overhead_ns",
    "rebuild",  # station that is to be told of the first request, or NONE
    indices=("rebuild",),
)

PARITY_ROW = _record(
    "stripe_bytes",
    "members",
    "parities",
    "first_member",
    "filled",
    "degraded",  # 1: some member lacks data
    "last_part",  # index into the pool: which child each member got last, while a read is cut into parts
    "overhead_ns",
    "rebuild",
    "stripes",  # station of the rows that are written in part; of one that locks rows: of the array
    "locks_rows",  # 1: it only locks rows; the array does the rest
    "locks",  # index into the pool: the first write of each list
    "ready",  # queue of writes that no longer wait for others
    "blocked",  # how many still do
    "changed_ns",  # up to when the time is added up in which some do
    indices=("rebuild", "stripes", "ready"),
)

REBUILD_ROW = _record(
    "members",
    "first_member",
    "filled",
    "group",  # how many neighbouring members are enough to give what one of them has lost
    "mirrored",  # 1: any of them gives it; 0: all the others together
    "end_bytes",  # of what a member holds
    "step_bytes",
    "interval_ns",  # from one step to the next
    "next_ns",  # when the next step may begin
    "waiting",  # slot of the step that waits for that, or NONE
    indices=("waiting",),
)

GATE_ROW = _record(
    "depth",
    "in_flight",
    "queue",
    "ended",  # queue of requests whose carrier is done
    "below",  # station that requests go on to; NONE: the one behind the port that they came through
    "most_bytes",  # waiting requests are joined up to this length; 0: they are not
    "joins_flushes",  # 1: flushes are joined, and nothing else
    "ends",  # index into the pool: the first waiting request of each list, by the address at which it ends
    "lists",  # how many; a power of two
    "changed_ns",  # up to when the time of its places is added up
    indices=("queue", "ended", "below"),
)

PORT_ROW = _record(
    "below",  # station that requests go on to
    "beyond",  # if that is a gate for several volumes: where it sends them
    "part_bytes",  # longer requests are cut into parts of this length; 0: they are not
    "base_bytes",  # where what lies behind it begins at the station below
    "client",  # if that has shares: whose requests come through it
    indices=("below", "beyond"),
)

SHARES_ROW = _record(
    "depth",
    "in_flight",
    "first_client",  # row of the first one in CLIENT
    "clients",
    "unit_bytes",  # a request counts once for each begun unit; 0: once whatever its length
    "virtual",  # time of the tags
    "changed_ns",  # up to when the time of its places is added up
)

#: Whose requests they are, where there are shares.
CLIENT_ROW = _record(
    "queue",
    "weight",
    "minimum_per_s",  # 0: none
    "start_tag",  # of its oldest request that waits; where none does, the finish tag of the last
    "due_ns",  # when its minimum lets the next one go, if it comes before
    "let_through",  # requests
    "by_minimum",  # of them
    indices=("queue",),
)

FILES_ROW = _record(
    "overhead_ns",  # of a flush
    "ordered",  # 1: a flush waits for the writes before it
    "oldest_write",  # of those that are not done; linked by ``chain`` and ``ahead``
    "youngest_write",
    "flushes",  # queue of those that wait for writes
    "below",  # station that requests go on to
    "flush_below",  # and flushes
    indices=("oldest_write", "youngest_write", "flushes", "below", "flush_below"),
)

FLASH_CACHE_ROW = _record(
    "flash",  # station of the cache
    "backing",  # and of what it caches
    "block_bytes",
    "blocks",  # how many there is room for
    "backing_blocks",  # how many whole ones the backing volume has
    "first",  # index into CACHED_BLOCK: the heads of the two lists, then the places
    "write_back",  # 1: writes end in flash; 0: they end on the backing volume
    "cutoff_bytes",  # longer sequential streams pass by; 0: nothing does
    "streams",  # index into the pool: end and length of the streams seen last
    "next_stream",  # which of them the next new one replaces
    "dirty_limit",  # more dirty blocks are written back
    "used",  # places taken so far
    "dirty",  # blocks in the list of dirty ones
    "cleaning",  # dirty blocks that are being written back
    "copies",  # how many copies between the volumes are under way
    "read_bytes",
    "read_hit_bytes",
    "written_bytes",
    "write_hit_bytes",  # written to flash, and at first to nothing else
    "promoted_bytes",
    "written_back_bytes",
    "filled_ns",  # when the last place was taken; 0: some are left
    "filled_read_bytes",  # read_bytes and read_hit_bytes then
    "filled_read_hit_bytes",
    indices=("flash", "backing"),
)

#: A place for a block in a cache, and the head of a list of blocks with the same hash. Places are counted within the
#: cache; 0 is none.
CACHED_BLOCK = _record(
    "block",  # which one it holds; NONE: none any more
    "state",
    "newer",  # in its list by last use
    "older",
    "chain",  # next place with the same hash
    "head",  # first place whose block has this row's number as its hash
    indices=("block", "state", "newer", "older", "chain", "head"),
)

TIERS_ROW = _record(
    "fast",  # station of the first tier
    "slow",
    "extent_bytes",
    "fast_places",
    "places",  # of both tiers; one more than there are extents
    "place",  # index into the pool: where each extent lies
    "extent",  # index into the pool: which extent lies in each place, or NONE
    "heat",  # index into the pool: decayed accesses by extent
    "accesses",  # index into the pool: since the last rebalance, by extent
    "interval_ns",
    "decay",  # share of its heat that an extent keeps over an interval, in 2^-DECAY_BITS
    "copy_bytes",  # an extent moves in pieces of this length
    "copy_ns",  # one in this time
    "next_copy_ns",  # the next one not before
    "started",
    "moving",  # extent under way, or NONE
    "target",  # its new place
    "copied_bytes",
    "fast_bytes",  # read and written in the first tier
    "all_bytes",
    "moved_bytes",
    indices=("fast", "slow"),
)

UPKEEP_ROW = _record(
    "below",  # station that requests go on to
    "reads",  # pages of the upkeep for a million that clients read
    "writes",  # for a million of these
    "run",  # pages that are read behind each other
    "depth",  # of these at a time
    "left",  # of the run that goes on
    "size_bytes",  # of a page
    "places",  # that there is room for
    "entity",
    "owed_reads",  # bytes, times a million
    "owed_writes",  # pages, times a million
    "asked",  # pages so far
    "page_ns",  # work on a page of a run that was read
    "free_ns",  # when that on all of them will be done
    "processors",  # station that it needs for that
    "cpu_ns",  # so long, 0: none
    indices=("below", "processors"),
)

NEIGHBOUR_ROW = _record(
    "below",  # station that requests go on to
    "gaps",  # index into the pool: times between arrivals that are equally likely
    "gap_bits",  # 2^this of them
    "reads",  # of 2^32 arrivals
    "first_byte",  # where the neighbour's data begin
    "size_bytes",  # of its requests
    "places",  # that it has room for
    "entity",
    "arrivals",  # so far, with the one that is due: what is drawn depends on nothing else
    indices=("below",),
)

ROUTE_ROW = _record(
    "overhead_ns",
    "commands",  # station that takes commands, or NONE
    "read_stops",  # index into the pool: stations that the data of a read pass, then NONE
    "write_stops",
    "other_stops",  # of flushes and discards
    "cached",  # if a write cache is among the stops: what that knows of the volume
    indices=("commands", "cached"),
)

WRITE_CACHE_ROW = _record(
    "first_line",  # index into LINE
    "lines",
    "used",
    "touched",  # lines that have ever been used
    "free",  # list of those that are so no longer, linked by ``chain``
    "heads",  # index into the pool: the first line of each list in which lines are looked up
    "lists",  # how many; a power of two
    "waiting",  # queue of writes that wait for room
    "destager",  # queue of the background request that waits until there is something to destage
    "first_volume",  # index into CACHED
    "volumes",
    "high_lines",  # destaging starts when more are used,
    "low_lines",  # and ends when no more are
    "draining",  # it has started and not ended
    "flush_interval_ns",  # a line that has been dirty for so long is destaged anyway
    "started",  # there is a destager
    "changed_ns",  # up to when the time of used lines is added up
    indices=("free", "waiting", "destager"),
)

#: What a write cache knows of a volume.
CACHED_ROW = _record(
    "below",  # station that its requests go on to
    "unit_sectors",  # of a stripe
    "row_sectors",  # of all data units that lie side by side
    "group_sectors",  # whole rows that are destaged together at most
    "columns",  # data units in a row
    "parities",
    "copies",
    "oldest",  # dirty line that is in no destage; linked by ``older`` and ``younger``
    "youngest",
    "in_flight",  # writes to members that its destages are
    "most_in_flight",
    indices=("below", "oldest", "youngest"),
)

#: A line of a write cache; a bit for each sector.
LINE = _record(
    "number",  # of the line within its volume
    "dirty",  # sectors that must be written
    "sent",  # sectors that are being written
    "since_ns",  # when it became dirty
    "volume",  # row of CACHED
    "chain",  # next in the list that it is looked up in, or of free ones
    "older",
    "younger",
    indices=("volume", "chain", "older", "younger"),
)

SERVER_ROW = _record(
    "queue",
    "in_service",
    "servers",
    "service_ns",
    "ps_per_byte",
    "table",  # index into the pool: service times that are equally likely
    "table_bits",  # 2^this of them; 0: no table
    "by_operation",  # 1: a table for each operation, one behind the other
    "entity",
    indices=("queue",),
)

#: ``background`` 1: nobody waits for it; it belongs to the station that it is sent to.
CHILD = _record("station", "op", "offset_bytes", "length_bytes", "background", indices=("station",))


@table_set
class Plant(NamedTuple):
    """Every table of every device of a scenario, by slot or by row."""

    stations: NDArray[Any]  # STATION[stations]
    requests: NDArray[Any]  # REQUEST[slots]
    links: NDArray[Any]  # LINK[slots]
    holds: NDArray[Any]  # HOLD[slots]
    queues: NDArray[Any]  # QUEUE
    drives: NDArray[Any]
    zones: NDArray[Any]
    segments: NDArray[Any]
    dirty: NDArray[Any]
    flashes: NDArray[Any]
    buckets: NDArray[Any]
    allowances: NDArray[Any]
    arrays: NDArray[Any]
    parities: NDArray[Any]
    gates: NDArray[Any]
    ports: NDArray[Any]
    shares: NDArray[Any]
    clients: NDArray[Any]  # of shares
    files: NDArray[Any]
    neighbours: NDArray[Any]
    upkeeps: NDArray[Any]
    routes: NDArray[Any]
    write_caches: NDArray[Any]
    cached: NDArray[Any]  # volumes of write caches
    lines: NDArray[Any]  # of write caches
    servers: NDArray[Any]
    rebuilds: NDArray[Any]
    flash_caches: NDArray[Any]
    cached_blocks: NDArray[Any]  # CACHED_BLOCK
    tiers: NDArray[Any]
    ftls: NDArray[Any]
    ftl_dies: NDArray[Any]
    mapped_blocks: NDArray[Any]  # MAPPED_BLOCK
    units: NDArray[np.uint32]  # maps of flash translation layers, by index
    children: NDArray[Any]  # CHILD: what `finish` or `resume` just made
    pool: NDArray[np.int64]  # tables and per-die, per-member values, by index
    work_ns: NDArray[np.int64]  # (stations, RESOURCES): service time handed out
    seed: NDArray[np.int64]  # (1,)


#: Tables that devices put rows into (:meth:`tiersim.devices.plant.PlantBuilder.row`), and what a row is.
TABLES: dict[str, np.dtype[Any]] = {
    "drives": DRIVE_ROW,
    "zones": ZONE,
    "segments": SEGMENT,
    "dirty": DIRTY,
    "flashes": FLASH_ROW,
    "buckets": BUCKET_ROW,
    "allowances": ALLOWANCE,
    "arrays": ARRAY_ROW,
    "parities": PARITY_ROW,
    "gates": GATE_ROW,
    "ports": PORT_ROW,
    "shares": SHARES_ROW,
    "clients": CLIENT_ROW,
    "files": FILES_ROW,
    "neighbours": NEIGHBOUR_ROW,
    "upkeeps": UPKEEP_ROW,
    "routes": ROUTE_ROW,
    "write_caches": WRITE_CACHE_ROW,
    "cached": CACHED_ROW,
    "servers": SERVER_ROW,
    "rebuilds": REBUILD_ROW,
    "flash_caches": FLASH_CACHE_ROW,
    "tiers": TIERS_ROW,
    "ftls": FTL_ROW,
    "ftl_dies": FTL_DIE,
}
#: Tables that they reserve room in.
RESERVED: dict[str, np.dtype[Any]] = {
    "lines": LINE,
    "cached_blocks": CACHED_BLOCK,
    "mapped_blocks": MAPPED_BLOCK,
    "units": np.dtype(np.uint32),
}

#: Tables of a plant that have a row for each slot.
PER_SLOT = ("requests", "links", "holds")

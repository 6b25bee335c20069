"""Faults in physics that the twin of a station or of a part of the database must notice by itself; names begin with it.

They were chosen before the twins were tried on them.
"""

from tests.mutations.fault import Fault

_DEVICES, _DATABASE = "tests/test_device_twins.py", "tests/test_database_twins.py"
_FLASH, _COMMITS = "tests/test_flash_twins.py", "tests/test_commit_twins.py"
_READS = "tests/test_read_twins.py"
_BACKGROUND, _TIERING = "tests/test_background_twins.py", "tests/test_tiering_twins.py"
_HELD, _BUFFER, _FTL = "tests/test_flash_held.py", "tests/test_hdd_twin.py", "tests/test_ftl.py"
_SLOW_BUS = f"{_BUFFER}::test_a_write_over_a_slow_bus_starts_when_no_sector_of_any_track_can_be_late"

#: Of the tests of each twin: file, old text, new text, what is wrong.
_FAULTS: dict[str, list[tuple[str, str, str, str]]] = {
    f"{_DEVICES}::test_server": [
        ("devices/server.py", '* s["ps_per_byte"] // PS_PER_NS', '* s["ps_per_byte"]', "Bytes take too long."),
        (
            "devices/server.py",
            's["in_service"] >= s["servers"]:',
            's["in_service"] > s["servers"]:',
            "There is one server more.",
        ),
    ],
    f"{_DEVICES}::test_gate": [
        (
            "devices/host/gate.py",
            '+ request["length_bytes"] <= most',
            '+ request["length_bytes"] < most',
            "Nobody joins up to the limit.",
        ),
        (
            "devices/host/gate.py",
            'slot == NONE or g["in_flight"] >= g["depth"]',
            'slot == NONE or g["in_flight"] > g["depth"]',
            "A gate lets one more through.",
        ),
        (
            "devices/host/gate.py",
            'p.requests[other]["op"] == request["op"]',
            'p.requests[other]["op"] >= 0',
            "A write joins a read.",
        ),
    ],
    f"{_DEVICES}::test_port": [
        (
            "devices/host/gate.py",
            'row["base_bytes"] + position',
            "position",
            "A slice begins at the pool's begin.",
        ),
        ("devices/host/gate.py", 'and request["op"] != DISCARD else', "else", "Discards are cut."),
    ],
    f"{_DEVICES}::test_files": [
        (
            "devices/host/file_system.py",
            "return slot, now + f[",
            "return slot, now + 1 + 0 * f[",
            "A late flush is free.",
        ),
        (
            "devices/host/file_system.py",
            'if op == WRITE and f["ordered"] == 1:',
            "if op == WRITE:",
            "Flushes wait for writes in any journal.",
        ),
    ],
    f"{_DEVICES}::test_token_bucket": [
        (
            "devices/cloud/token_bucket_kernels.py",
            "return ceiling if refills >= missing else level + refills * per_refill",
            "return level + refills * per_refill",
            "Tokens never lapse.",
        ),
        (
            "devices/cloud/token_bucket_kernels.py",
            "wanted = min(cost, ceiling)",
            "wanted = min(cost, ceiling // 2)",
            "A long request waits for half of what can be saved.",
        ),
        (
            "devices/cloud/token_bucket_kernels.py",
            'return 0 if p.requests[slot]["op"] == DISCARD else',
            "return",
            "A discard pays for its bytes.",
        ),
        (
            "devices/cloud/token_bucket_kernels.py",
            'p.requests[slot]["op"] == FLUSH and b["free_flushes"]',
            'b["free_flushes"]',
            "Where flushes are free, all is.",
        ),
    ],
    f"{_DEVICES}::test_hdd": [
        (
            "devices/hdd/hdd_geometry.py",
            'skew = head * z["track_skew_ps"] +',
            "skew =",
            "There is no skew between the tracks of a cylinder.",
        ),
        (
            "devices/hdd/hdd_kernels.py",
            'distance = abs(cylinder - d["cylinder"])',
            'distance = abs(cylinder - d["cylinder"]) + 1',
            "Every seek is a cylinder longer.",
        ),
        (
            "devices/hdd/hdd_kernels.py",
            "            if cost < least:",
            "            if cost > least:",
            "The farthest is next.",
        ),
        (
            "devices/hdd/hdd_kernels.py",
            'seen < d["queue_depth"]:',
            'seen <= d["queue_depth"]:',
            "It knows one too many.",
        ),
    ],
    f"{_BUFFER}::test_a_drive_answers_as_its_twin {_SLOW_BUS}": [
        (
            "devices/hdd/hdd_geometry.py",
            "lead = max(lead, done * interface_ps - passed + sector_ps)",
            "lead = max(lead, done * interface_ps - passed)",
            "A write starts a sector too soon.",
        ),
        (
            "devices/hdd/hdd_geometry.py",
            "marked = passed + (mark - done) * sector_ps",
            "marked = passed + mark * sector_ps",
            "The water mark is late on the second track.",
        ),
    ],
    f"{_DEVICES}::test_array": [
        (
            "devices/array/array_kernels.py",
            "if outstanding == 0 else int",
            "if outstanding <= 1 else int",
            "One is idle.",
        ),
        (
            "devices/array/array_kernels.py",
            "start += offset_bytes % stripe_bytes",
            "start += 0 * stripe_bytes",
            "A long request begins with its unit.",
        ),
        (
            "devices/array/array_kernels.py",
            "        end = first + 1\n",
            "        end = first + 2\n",
            "Two copies read.",
        ),
    ],
    f"{_DEVICES}::test_parity_and_stripes": [
        (
            "devices/array/parity_kernels.py",
            "return members - 1 - row % members",
            "return row % members",
            "Parity goes round the other way.",
        ),
        (
            "devices/array/parity_kernels.py",
            "first_whole = (begin + row_bytes - 1) // row_bytes",
            "first_whole = begin // row_bytes + 1",
            "A write that begins with a row is no whole row.",
        ),
        ("devices/array/stripes_kernels.py", "return units + parities", "return units + 1", "Q costs no read."),
        (
            "devices/array/stripes_kernels.py",
            "        if stop < unit_bytes:\n            reads += 1\n",
            "",
            "What is left of the last unit is not counted.",
        ),
        (
            "devices/array/stripes_kernels.py",
            'a["low_bytes"] < b["high_bytes"]',
            'a["low_bytes"] <= b["high_bytes"]',
            "Writes beside each other wait.",
        ),
        (
            "devices/array/stripes_kernels.py",
            "high = (last_row + 1) * unit_bytes",
            "high = last_row * unit_bytes",
            "The last row of a write is not locked.",
        ),
        (
            "devices/array/stripes_kernels.py",
            "first % columns == columns - 1):",
            "first % columns == 0):",
            "A write that begins a row with more than its last unit locks the end of it alone.",
        ),
        (
            "devices/array/stripes_kernels.py",
            "if unit >= 0 and not _overwritten(",
            "if unit >= 0 and _overwritten(",
            "Lost data are taken for those that are overwritten.",
        ),
    ],
    f"{_DEVICES}::test_write_cache": [
        (
            "devices/controller/write_cache_kernels.py",
            'if 2 * request["length_bytes"] > c["lines"]',
            'if request["length_bytes"] > c["lines"]',
            "What takes more than half of the cache goes into it.",
        ),
        (
            "devices/controller/write_cache_kernels.py",
            'if c["used"] > c["high_lines"]:',
            'if c["used"] >= c["high_lines"]:',
            "Destaging starts at the high mark.",
        ),
        (
            "devices/controller/write_cache_kernels.py",
            'elif c["used"] <= c["low_lines"]:',
            'elif c["used"] <= c["high_lines"]:',
            "Destaging stops below the high mark.",
        ),
        (
            "devices/controller/write_cache_kernels.py",
            "            if since < oldest:",
            "            if best == NONE:",
            "The first volume comes first.",
        ),
        (
            "devices/controller/write_cache_kernels.py",
            "            end = end // row * row\n",
            "",
            "What is dirty behind whole rows goes with them.",
        ),
        (
            "devices/controller/write_cache_kernels.py",
            'writes = (min(units, v["columns"]) + v["parities"])',
            'writes = (units + v["parities"])',
            "Units of one member are as many writes.",
        ),
        (
            "devices/controller/lines_kernels.py",
            '(p.lines[line]["dirty"] | p.lines[line]["sent"])',
            'p.lines[line]["dirty"]',
            "What is being written is not read from the cache.",
        ),
    ],
    "tests/test_channels.py::test_each_transfer_takes_the_first_time_that_is_left": [
        (
            "devices/ssd/flash_kernels.py",
            "done += p.pool[last + 1] - p.pool[last]",
            "done = p.pool[last + 1]",
            "A transfer ends with what it goes round.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            "p.pool[place + 1] < at_ns:",
            "p.pool[place] < at_ns:",
            "A busy time is skipped.",
        ),
    ],
    f"{_HELD}::test_a_drive_that_holds_commands_back_does_what_its_twin_does": [
        ("devices/ssd/held_kernels.py", "at = max(idle, p.holds", "at = max(now, p.holds", "Transfers overlap."),
        (
            "devices/ssd/held_kernels.py",
            '<= f["buffer_units"]):',
            '< f["buffer_units"]):',
            "The last unit of the buffer is never used.",
        ),
        (
            "devices/ssd/held_kernels.py",
            'hold["row"] == first["row"]',
            'hold["row"] >= first["row"]',
            "One command takes pages with different numbers.",
        ),
        (
            "devices/ssd/held_kernels.py",
            '% f["chip_dies"] == 0',
            '% f["chip_dies"] >= 0',
            "One command takes pages of several dies.",
        ),
        (
            "devices/ssd/held_kernels.py",
            'if f["program_command_ns"] > 0:',
            'if f["program_command_ns"] < 0:',
            "A command to program takes no time of the channel.",
        ),
    ],
    f"{_DATABASE}::test_processors": [
        (
            "simulator/database/sessions/processors.py",
            "d.in_service[0] >= d.cores[0]:",
            "d.in_service[0] > d.cores[0]:",
            "There is one core more.",
        ),
        (
            "simulator/database/sessions/processors.py",
            "* d.slowdown[d.in_service[0]] // 1000",
            "* d.slowdown[1] // 1000",
            "Busy cores slow nobody.",
        ),
    ],
    f"{_DATABASE}::test_buffer_pool": [
        ("simulator/database/buffer_pool/sweep.py", "MOST_USED = 5", "MOST_USED = 6", "Usage counts go to 6."),
        (
            "simulator/database/buffer_pool/sweep.py",
            "    d.used[frame] = 1\n\n\n@kernel\ndef choose",
            "    d.used[frame] = 0\n\n\n@kernel\ndef choose",
            "A page starts without use.",
        ),
        (
            "simulator/database/buffer_pool/lru.py",
            "    _unlink(d.newer, d.older, frame)\n    _push(d.newer, d.older, len(d.page_of), frame)",
            "    pass",
            "The page goes that came first.",
        ),
        (
            "simulator/database/buffer_pool/lru2.py",
            "other < last_but_one or (other",
            "other > last_but_one or (other",
            "The page goes whose last use but one is the youngest.",
        ),
        (
            "simulator/database/buffer_pool/lru2.py",
            "d.times_ns[page, _LAST_BUT_ONE] = 0 if forgotten else",
            "d.times_ns[page, _LAST_BUT_ONE] = 0 if True else",
            "Pages that left are forgotten.",
        ),
        (
            "simulator/database/buffer_pool/pages.py",
            "    d.dirty[frame] = 0\n",
            "    d.dirty[frame] = 1\n",
            "Pages stay dirty.",
        ),
    ],
    f"{_DATABASE}::test_page_cache": [
        (
            "simulator/database/cached_pages.py",
            "        take_off(p, cache, place)\n        put_back(p, cache, place, False)",
            "        take_off(p, cache, place)\n        put_back(p, cache, place, True)",
            "The page goes that was read last.",
        ),
        (
            "simulator/database/page_cache.py",
            '            if find(p, c["cache"], page) == NOWHERE:\n',
            '            if find(p, c["cache"], page) != NOWHERE:\n',
            "Nothing that was read is kept.",
        ),
    ],
    f"{_DATABASE}::test_log_writer": [
        (
            "simulator/database/wal/log.py",
            "elif _has_much(d):",
            "elif False:",
            "The log writer waits for its time, however much is not durable.",
        ),
    ],
    f"{_DATABASE}::test_wal": [
        (
            "simulator/database/wal/log.py",
            'log["target"] = log["inserted"]',
            'log["target"] = max(p.requests[slot]["offset_bytes"], log["written"])',
            "A flush takes its own record only.",
        ),
        (
            "simulator/database/wal/log.py",
            "// segment + 1) * segment)",
            "// segment + 2) * segment)",
            "Segments are long.",
        ),
        (
            "simulator/database/wal/log.py",
            'first = log["written"] // block * block',
            'first = -(-log["written"] // block) * block',
            "The last block is not written again.",
        ),
        (
            "simulator/database/wal/log.py",
            "_FILE_SYNCS = 4",
            "_FILE_SYNCS = 3",
            "The directory of a new file is not synced.",
        ),
        (
            "simulator/database/wal/log.py",
            "add_child(p, 0, d.stations[AT_PROCESSORS], URGENT,",
            "add_child(p, 0, d.stations[AT_PROCESSORS], URGENT - 1,",
            "The flushing process waits for its turn.",
        ),
    ],
    f"{_DATABASE}::test_locks": [
        (
            "simulator/database/sessions/sessions.py",
            'lock["table"] == table and lock["row"] == row:\n            if lock["first',
            'lock["table"] == table:\n            if lock["first',
            "A table is locked whole.",
        ),
        (
            "simulator/database/sessions/sessions.py",
            "if d.page_cleaner.size > 0 and d.binary_log.size == 0:",
            "if d.page_cleaner.size > 0 and d.binary_log.size > 0:",
            "InnoDB keeps rows until its redo is flushed.",
        ),
        (
            "simulator/database/sessions/sessions.py",
            'lock["last_waiter"] = session + 1',
            'lock["last_waiter"] = lock["first_waiter"]',
            "Of those that wait all but two are lost.",
        ),
        ("simulator/database/wal/log.py", 'log["images"] += 1', 'log["inserted"] += 1', "An image is a byte longer."),
    ],
    f"{_BACKGROUND}::test_checkpointer": [
        (
            "simulator/database/checkpoint/checkpointer.py",
            'progress = c["processed"] / c["pages"] * c["target"] / 1000',
            'progress = c["processed"] / c["pages"]',
            "Writes take the whole interval.",
        ),
        (
            "simulator/database/wal/log.py",
            'if full < log["redo"] // segment + c["segments"] - 1:',
            'if full < log["redo"] // segment + c["segments"] - 2:',
            "The log asks a segment too early.",
        ),
        (
            "simulator/database/checkpoint/checkpointer.py",
            "if pending and must_flush_for(d, page):",
            "if pending and False:",
            "Pages are written before their log.",
        ),
        (
            "simulator/database/checkpoint/checkpointer.py",
            'c["due_ns"] = now + c["timeout_ns"]',
            'c["due_ns"] = now + c["timeout_ns"] // 2',
            "Checkpoints come twice as often.",
        ),
        (
            "simulator/database/checkpoint/checkpointer.py",
            "**values_of(CHECKPOINTER_ROW, settings),",
            '**values_of(CHECKPOINTER_ROW, settings) | {"nap_ns": NAP_NS},',
            "Naps are always 100 ms.",
        ),
        (
            "simulator/database/page_cache.py",
            "    if _is_written(p, d, slot):\n",
            "    if True:\n",
            "A sync goes past what others write back.",
        ),
    ],
    "tests/test_ftl.py::test_a_fresh_drive_puts_and_copies_as_its_twin": [
        (
            "devices/ssd/ftl_kernels.py",
            "count = (valid + hosts - 1) // hosts",
            "count = valid",
            "All units of a victim are copied at once.",
        ),
        (
            "devices/ssd/ftl_kernels.py",
            'd["lowest"] = min(d["lowest"], f["greedy"] * valid)',
            'd["lowest"] = f["greedy"] * valid',
            "The block that was filled last is taken for the emptiest.",
        ),
        (
            "devices/ssd/ftl_kernels.py",
            '["valid_units"] >= f["most_valid"]:',
            '["valid_units"] + 1 >= f["most_valid"]:',
            "A die refuses the last unit that it may hold.",
        ),
    ],
    f"{_BACKGROUND}::test_background_writer": [
        (
            "simulator/database/buffer_pool/background_writer.py",
            'w["found"] < w["needed"] and w["written"] < w["most_pages"]:',
            'w["found"] < w["needed"]:',
            "A round writes as many as it likes.",
        ),
        (
            "simulator/database/buffer_pool/background_writer.py",
            "if d.state[frame] == READING or d.used[frame] > 0:",
            "if d.state[frame] == READING or d.used[frame] > 1:",
            "Frames that are in use are taken for reusable.",
        ),
        (
            "simulator/database/buffer_pool/background_writer.py",
            'w["taken_average"] * w["multiplier"] // 1000 >> _BITS',
            'w["taken_average"] >> _BITS',
            "The multiplier does nothing.",
        ),
    ],
    f"{_BACKGROUND}::test_log_blocks": [
        (
            "simulator/database/wal/log_blocks.py",
            'if log["writes"] >= log["most_writes"] or',
            'if log["writes"] > log["most_writes"] or',
            "One more write is under way.",
        ),
        (
            "simulator/database/wal/log_blocks.py",
            'log["write_bytes"] + length <= log["most_bytes"]',
            'log["write_bytes"] <= log["most_bytes"]',
            "What comes on top of the limit is not counted.",
        ),
        (
            "simulator/database/wal/log_blocks.py",
            'log["next_block"] and d.log_blocks[log["first_block"] % blocks, BLOCK_DURABLE]:',
            'log["next_block"]:',
            "A commit does not wait for the blocks before its own.",
        ),
    ],
    f"{_BACKGROUND}::test_bursts": [
        (
            "simulator/database/checkpoint/bursts.py",
            'if c["outstanding_pages"] >= c["target_pages"]:',
            'if c["outstanding_pages"] > c["target_pages"]:',
            "One page more than the target is under way.",
        ),
        (
            "simulator/database/checkpoint/bursts.py",
            'if c["latency_ns"] > c["slow_ns"] * c["writes"]:',
            'if c["latency_ns"] < c["slow_ns"] * c["writes"]:',
            "Fast writes lower the target.",
        ),
        (
            "simulator/database/buffer_pool/gather_write.py",
            "while first > start and behind - first < most",
            "while first > start and behind - first <= most",
            "A page too many is gathered.",
        ),
    ],
    f"{_TIERING}::test_tiers": [
        (
            "devices/tiering/tiers.py",
            'within < t["copied_bytes"] + t["copy_bytes"]:',
            'within < t["copied_bytes"]:',
            "What is written to the piece that is copied next goes to the old place only.",
        ),
        (
            "devices/tiering/tiers.py",
            't["next_copy_ns"] = start + t["copy_ns"]',
            't["next_copy_ns"] = start',
            "Copies are not held to their rate.",
        ),
        (
            "devices/tiering/tiers.py",
            'p.pool[t["heat"] + extent] > p.pool[t["heat"] + hottest]:',
            'p.pool[t["heat"] + extent] >= p.pool[t["heat"] + hottest]:',
            "Of extents that are as hot the last moves first.",
        ),
    ],
    f"{_TIERING}::test_flash_cache": [
        (
            "devices/tiering/flash_cache_kernels.py",
            'while c["dirty"] > c["dirty_limit"] and',
            'while c["dirty"] >= c["dirty_limit"] and',
            "Blocks are written back at the limit.",
        ),
        (
            "devices/tiering/flash_cache_kernels.py",
            'return bool(p.pool[stream + 1] < c["cutoff_bytes"])',
            'return bool(p.pool[stream + 1] <= c["cutoff_bytes"])',
            "A stream of just the cutoff is cached.",
        ),
        (
            "devices/tiering/cached_blocks_kernels.py",
            "set_state(p, cache, place, state_of(p, cache, place))",
            "pass",
            "The block goes that came first.",
        ),
    ],
    f"{_DEVICES}::test_neighbour": [
        (
            "devices/array/neighbour_kernels.py",
            'n["first_byte"] + place',
            "place",
            "The neighbour works on our slices.",
        ),
        (
            "devices/array/neighbour_kernels.py",
            'op = READ if draw < n["reads"] else WRITE',
            'op = WRITE if draw < n["reads"] else READ',
            "Reads and writes of the neighbour change places.",
        ),
        (
            "devices/array/neighbour_kernels.py",
            '(draw >> (32 - n["gap_bits"]))]',
            '(draw >> (33 - n["gap_bits"]))]',
            "Long gaps never come.",
        ),
    ],
    f"{_DEVICES}::test_upkeep": [
        (
            "devices/host/upkeep.py",
            'u["owed_reads"] += request["length_bytes"] * u["reads"]',
            'u["owed_reads"] += u["size_bytes"] * u["reads"]',
            "A read of many pages counts as one.",
        ),
        (
            "devices/host/upkeep.py",
            'u["owed_writes"] -= MILLION',
            'u["owed_writes"] = 0',
            "What is left behind a whole page of the upkeep is forgotten.",
        ),
        (
            "devices/host/upkeep.py",
            'if u["left"] == 0 and u',
            "if u",
            "A run of the upkeep begins within another.",
        ),
        (
            "devices/host/upkeep.py",
            'max(u["free_ns"], now) + u["page_ns"]',
            'now + u["page_ns"]',
            "Pages of a run are worked on side by side.",
        ),
        (
            "devices/host/upkeep.py",
            'if u["cpu_ns"] > 0 and',
            'if u["cpu_ns"] < 0 and',
            "Pages of a run take no processor.",
        ),
    ],
    f"{_READS}::test_rings": [
        (
            "simulator/database/buffer_pool/rings.py",
            'd.ring_length[session] < d.ring_pages[d.sessions[session]["ring"]]:',
            'd.ring_length[session] <= d.ring_pages[d.sessions[session]["ring"]]:',
            "A ring has a frame more.",
        ),
        (
            "simulator/database/buffer_pool/rings.py",
            "pages > len(d.page_of) // _SCANNED_PART",
            "pages >= len(d.page_of) // _SCANNED_PART",
            "A table of a quarter of the pool is read through a ring.",
        ),
    ],
    f"{_READS}::test_read_stream": [
        (
            "simulator/database/sessions/read_stream.py",
            'r["distance"] = min(2 * r["distance"], _most_distance(d, session, place))',
            'r["distance"] = min(r["distance"] + 1, _most_distance(d, session, place))',
            "The distance grows by a page.",
        ),
        (
            "simulator/database/sessions/read_stream.py",
            'r["distance"] = max(r["distance"] - 1, 1)',
            'r["distance"] = 1',
            "A page that is there makes the distance short.",
        ),
        (
            "simulator/database/sessions/read_stream.py",
            "while run < pending and not is_there(d, first + run):",
            "while run < pending:",
            "Pages that are there are read again.",
        ),
    ],
    f"{_READS}::test_readers": [
        (
            "simulator/database/buffer_pool/readers.py",
            "d.readers[READERS_BUSY] >= d.readers[READERS_COUNT]:",
            "d.readers[READERS_BUSY] > d.readers[READERS_COUNT]:",
            "One worker more reads.",
        ),
        (
            "simulator/database/buffer_pool/readers.py",
            "else pages * d.costs[SCAN_READ_NS])",
            "else d.costs[SCAN_READ_NS])",
            "Several pages cost a worker as much as one.",
        ),
    ],
    f"{_BACKGROUND}::test_indirect": [
        (
            "simulator/database/checkpoint/bursts.py",
            'c["processed"] = due % c["timeout_ns"]',
            'c["processed"] = 0',
            "What is due in part is forgotten, and once round takes longer.",
        ),
        (
            "simulator/database/checkpoint/bursts.py",
            "return bool(d.dirty[frame] and not is_temporary(d, page))",
            "return bool(d.dirty[frame] and d.checkpoint_mark[page] == CHECKPOINT_PENDING)",
            "An indirect checkpoint writes only what was marked, which is nothing.",
        ),
    ],
    f"{_READS}::test_copies": [
        (
            "simulator/database/sessions/copies.py",
            'd.holds[slot]["work_ns"] = p.requests[slot]["length_bytes"]',
            'd.holds[slot]["work_ns"] = min(p.requests[slot]["length_bytes"], SLICE_NS)',
            "The work on a buffer ends with its first slice.",
        ),
        (
            "simulator/database/sessions/copies.py",
            'row["turn"] = d.level_station[level]',
            "pass",
            "The second volume is read to its end before the first.",
        ),
    ],
    f"{_BACKGROUND}::test_write_back": [
        (
            "simulator/database/page_cache.py",
            'if row["dirty"] <= c["background_pages"] and',
            'if row["dirty"] < c["background_pages"] and',
            "Write-back goes on below a tenth of dirty pages.",
        ),
        (
            "simulator/database/cached_pages.py",
            "DIRTY if state_of(p, cache, place) == REDIRTIED else CLEAN",
            "CLEAN",
            "What changes while it is written back is lost.",
        ),
        (
            "simulator/database/cached_pages.py",
            "put_back(p, cache, place, state == CLEAN)",
            "put_back(p, cache, place, False)",
            "A page whose turn to go came stays for as long as another when it is written.",
        ),
        (
            "simulator/database/page_cache.py",
            'd.dirty_since_ns[place] > c["expired_ns"]',
            "True",
            "The flusher writes nothing.",
        ),
    ],
    f"{_COMMITS}::test_binary_log": [
        (
            "simulator/database/wal/binary_log.py",
            'b["done"] = b["target"]',
            'b["done"] = b["arrived"]',
            "Who comes during a sync goes with it.",
        ),
        (
            "simulator/database/wal/binary_log.py",
            'b["delay_ns"] if waits else 0',
            'b["delay_ns"]',
            "Groups that are not synced wait for company.",
        ),
    ],
    f"{_COMMITS}::test_journal": [
        (
            "simulator/database/journal.py",
            'j["busy"], j["began_ns"] = 1, now',
            'j["busy"], j["began_ns"] = 0, now',
            "Commits of the journal run beside each other.",
        ),
        (
            "simulator/database/journal.py",
            "now // TICK_NS > changed_ns // TICK_NS",
            "now > changed_ns",
            "Each write changes the metadata of a file.",
        ),
    ],
    f"{_COMMITS}::test_log_threads": [
        (
            "simulator/database/wal/log_threads.py",
            'log["target"] = log["written"]',
            'log["target"] = log["inserted"]',
            "The flusher takes what the writer has not written.",
        ),
        (
            "simulator/database/wal/log_threads.py",
            'log["writer_awake"] = log["inserted"] > log["written"]',
            'log["writer_awake"] = 0',
            "The writer rests though there is more.",
        ),
        (
            "simulator/database/sessions/processors.py",
            "return wake_log_writer(p, d)",
            "return 0",
            "The writer sleeps until somebody commits.",
        ),
        (
            "simulator/database/wal/log_threads.py",
            'log["busy"] = log["written"] > log["flushed"]',
            'log["busy"] = 0',
            "The flusher rests though there is more.",
        ),
    ],
    f"{_COMMITS}::test_log_threads_with_a_binary_log": [
        (
            "simulator/database/wal/log_threads.py",
            'insert(d, request["length_bytes"])',
            "insert(d, 0)",
            "A commit logs nothing when its group is synced.",
        ),
        (
            "simulator/database/wal/log_threads.py",
            "            return wake_log_writer(p, d)\n",
            "            return 0\n",
            "The writer sleeps when a commit logs its end.",
        ),
    ],
    f"{_COMMITS}::test_replica": [
        (
            "simulator/database/wal/log.py",
            'max(there_ns, log["replica_ends_ns"])',
            "there_ns",
            "A replica flushes several times at once.",
        ),
        (
            "simulator/database/wal/log.py",
            'if there_ns > log["replica_starts_ns"]:',
            "if True:",
            "What waits at a replica shares no flush.",
        ),
    ],
    f"{_FTL}::test_a_steady_drive_collects_as_its_twin": [
        (
            "devices/ssd/ftl_kernels.py",
            "count = (valid + hosts - 1) // hosts",
            "count = valid // hosts",
            "Copies are not done when the block is full.",
        ),
        (
            "devices/ssd/ftl_kernels.py",
            'd["lowest"] = min(d["lowest"], f["greedy"] * valid)',
            "pass",
            "A block that was filled with few valid units is not cleaned first.",
        ),
        (
            "devices/ssd/ftl_kernels.py",
            'if f["greedy"] and block != d["active"] and block != d["victim"]:',
            'if f["greedy"] and block != d["active"]:',
            "The block that is being cleaned is chosen again.",
        ),
    ],
    f"{_DEVICES}::test_rebuild_with_parity": [
        (
            "devices/array/rebuild_kernels.py",
            '        if holds_data(p, r["filled"], member, end):\n            made = add_part(p, made',
            "        if True:\n            made = add_part(p, made",
            "A replacement is read to fill itself.",
        ),
        (
            "devices/array/stripes_kernels.py",
            'if unit < 0 and p.pool[a["first_member"] + member] != NONE:',
            'if unit < 0 and holds_data(p, a["filled"], member, (row + 1) * unit_bytes):',
            "Parity on a replacement that is not filled is written without what it is made from.",
        ),
        (
            "devices/array/stripes_kernels.py",
            'if holds_data(p, a["filled"], member, (row + 1) * unit_bytes):\n                continue',
            'if holds_data(p, a["filled"], member, row * unit_bytes):\n                continue',
            "A row is taken to be filled before it is.",
        ),
    ],
    f"{_DEVICES}::test_rebuild": [
        (
            "devices/array/rebuild_kernels.py",
            'r["next_ns"] = now + r["interval_ns"]',
            'r["next_ns"] += r["interval_ns"]',
            "A rebuild makes up for what it was late.",
        ),
        (
            "devices/array/rebuild_kernels.py",
            '            < p.stations[p.pool[r["first_member"] + least]]["outstanding"]',
            '            <= p.stations[p.pool[r["first_member"] + least]]["outstanding"]',
            "Of mirrors that have as much to do the last is read.",
        ),
        (
            "devices/array/rebuild_kernels.py",
            'max(p.pool[r["filled"] + member], end)',
            'max(p.pool[r["filled"] + member], offset)',
            "What was filled last is not read from the replacement.",
        ),
    ],
    f"{_DEVICES}::test_route": [
        (
            "devices/controller/route_kernels.py",
            'stop = r["write_stops"]',
            'stop = r["read_stops"]',
            "Writes take the way of reads.",
        ),
        (
            "devices/controller/route_kernels.py",
            'return now + p.routes[route]["overhead_ns"]',
            "return now + 1",
            "A controller has no overhead.",
        ),
        (
            "devices/controller/route_kernels.py",
            "    if commands == NONE:\n",
            "    if True:\n",
            "Commands pass without being taken.",
        ),
    ],
    f"{_FLASH}::test_planned_flash": [
        (
            "devices/ssd/flash_kernels.py",
            'took), f["suspend_ns"])',
            "took), NEVER)",
            "A read waits for the whole program.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            "p.pool[sensing] & planes == 0:",
            "p.pool[sensing] & planes != 0:",
            "Reads join on the planes that are taken.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            "        start = idle_from(p, calendar, start)  # data go before commands\n",
            "",
            "A command does not wait for the channel.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            'start + f["patched_units"] * f["patch_ns"]',
            "start",
            "A unit that is written in part is not read first.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            "admitted = max(at_ns, p.pool[place])",
            "admitted = at_ns",
            "A full buffer takes more.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            'soon = start <= now + f["program_ns"]',
            "soon = True",
            "Reads wait for transfers that lie far ahead.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            'if f["filled_units"] > 0:\n            f["filled_ns"]',
            'if f["filled_units"] > 1:\n            f["filled_ns"]',
            "A flush leaves a single unit in the buffer.",
        ),
    ],
    f"{_FLASH}::test_planned_client": [
        (
            "devices/ssd/flash_kernels.py",
            'f["filled_ns"] = max(f["filled_ns"], started)',
            'f["filled_ns"] = max(f["filled_ns"], 0)',
            "A flush programs as if it had been asked for before.",
        ),
        (
            "devices/ssd/slc_cache_kernels.py",
            'f["slc_folds"] == 1 or f["slc_free_units"] >= f["slc_program_units"]',
            'f["slc_free_units"] >= f["slc_program_units"]',
            "A full cache that folds takes no writes.",
        ),
        (
            "devices/ssd/slc_cache_kernels.py",
            "p.pool[free] = max(p.pool[free], now + program_ns - begun)",
            "p.pool[free] = max(p.pool[free], now)",
            "A command does not wait for what an idle drive is folding.",
        ),
        (
            "devices/ssd/flash_kernels.py",
            "limit = max(first, min(end + size,",
            "limit = max(first, min(first + size,",
            "A stream is read ahead further with every read.",
        ),
    ],
    f"{_DATABASE}::test_sessions": [
        (
            "simulator/database/sessions/sessions.py",
            '        s["charge_ns"] += d.costs[LOOKUP_NS]\n',
            '        s["charge_ns"] += d.costs[PAGE_NS]\n',
            "A row costs what a page does.",
        ),
        (
            "simulator/database/sessions/sessions.py",
            'return int(max(d.start_ns[statement], s["ended_ns"]))',
            'return int(s["ended_ns"])',
            "Statements do not wait for their recorded time.",
        ),
        (
            "simulator/database/sessions/sessions.py",
            's["charge_ns"] = d.client_ns[s["next"]]',
            's["charge_ns"] = 0',
            "Clients need no processor.",
        ),
        (
            "simulator/database/sessions/sessions.py",
            's["started_ns"] = s["asked_ns"] = now - part',
            's["started_ns"] = now - part',
            "The wait for the first core belongs to the statement.",
        ),
    ],
    f"{_BACKGROUND}::test_lazy_writer": [
        (
            "simulator/database/buffer_pool/lazy_writer.py",
            'return int(w["examined"]) if d.pool_state[FREE_FRAMES] < min(w["examined"], most) else 0',
            'return int(w["examined"]) if d.pool_state[FREE_FRAMES] < most else 0',
            "The list is short below an eighth of the pool, however few are examined.",
        ),
        (
            "simulator/database/buffer_pool/lazy_writer.py",
            "if held == 0 or d.used[held - 1] != GOING or",
            "if held == 0 or d.used[held - 1] == GOING or",
            "What was written so that it can go stays.",
        ),
        (
            "simulator/database/buffer_pool/lazy_writer.py",
            "return int((now // interval + 1) * interval)",
            "return int(now + interval)",
            "The lazy writer comes an interval after a read, not every interval.",
        ),
        (
            "simulator/database/buffer_pool/lazy_writer.py",
            'return int(max(min(w["examined"], most) - d.pool_state[FREE_FRAMES], 0))',
            'return int(w["examined"])',
            "The lazy writer examines as many as a worker.",
        ),
    ],
}


def _station(tests: str) -> str:
    own = {_HELD: "flash-held", _BUFFER: "hdd-buffer", "tests/test_channels.py": "channel", _FTL: "ftl"}
    file, _, name = tests.partition("::")
    if name.startswith("test_a_steady_drive"):
        return "ftl-steady"
    return own.get(file, name.removeprefix("test_").replace("_", "-"))


TWINS = tuple(
    Fault(f"twin-{_station(tests)}-{number}", *fault, tuple(tests.split()))
    for tests, faults in _FAULTS.items()
    for number, fault in enumerate(faults, 1)
)

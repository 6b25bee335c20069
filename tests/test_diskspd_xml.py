"""DiskSpd's XML, made by hand after what its source prints (XmlResultParser and its unit test)."""

from pathlib import Path

import pytest

from tests.fio_documents import read
from tiersim.errors import TraceError

TARGET = """
          <Target>
            <Path>D:\\fit.tmp</Path>
            <BlockSize>8192</BlockSize>
            <BaseFileOffset>0</BaseFileOffset>
            <DisableOSCache>true</DisableOSCache>
            <WriteBufferContent><Pattern>sequential</Pattern></WriteBufferContent>
            <ParallelAsyncIO>false</ParallelAsyncIO>
            <Random>8192</Random>
            <ThreadStride>0</ThreadStride>
            <MaxFileSize>0</MaxFileSize>
            <RequestCount>8</RequestCount>
            <WriteRatio>30</WriteRatio>
            <Throughput>0</Throughput>
            <ThreadsPerFile>4</ThreadsPerFile>
            <Weight>1</Weight>
          </Target>"""
PROFILE = f"""
      <TimeSpan>
        <MeasureLatency>true</MeasureLatency>
        <Duration>10</Duration>
        <ThreadCount>0</ThreadCount>
        <RequestCount>0</RequestCount>
        <Targets>{TARGET}
        </Targets>
      </TimeSpan>"""
LATENCY = """
    <Latency>
      <AverageReadMilliseconds>0.250</AverageReadMilliseconds>
      <ReadLatencyStdev>0.104</ReadLatencyStdev>
      <AverageWriteMilliseconds>0.031</AverageWriteMilliseconds>
      <WriteLatencyStdev>0.012</WriteLatencyStdev>
      <AverageTotalMilliseconds>0.184</AverageTotalMilliseconds>
      <LatencyStdev>0.132</LatencyStdev>
      <Bucket><Percentile>0</Percentile><ReadMilliseconds>0.071</ReadMilliseconds>
        <WriteMilliseconds>0.017</WriteMilliseconds><TotalMilliseconds>0.017</TotalMilliseconds></Bucket>
      <Bucket><Percentile>50</Percentile><ReadMilliseconds>0.233</ReadMilliseconds>
        <WriteMilliseconds>0.029</WriteMilliseconds><TotalMilliseconds>0.198</TotalMilliseconds></Bucket>
      <Bucket><Percentile>99.9</Percentile><ReadMilliseconds>1.901</ReadMilliseconds>
        <WriteMilliseconds>0.302</WriteMilliseconds><TotalMilliseconds>1.707</TotalMilliseconds></Bucket>
      <Bucket><Percentile>100</Percentile><ReadMilliseconds>8.004</ReadMilliseconds>
        <WriteMilliseconds>4.442</WriteMilliseconds><TotalMilliseconds>8.004</TotalMilliseconds></Bucket>
    </Latency>"""
THREADS = """
    <Thread><Id>0</Id><Target><Path>D:\\fit.tmp</Path><BytesCount>8192000</BytesCount><FileSize>10485760</FileSize>
      <IOCount>1000</IOCount><ReadBytes>5734400</ReadBytes><ReadCount>700</ReadCount>
      <WriteBytes>2457600</WriteBytes><WriteCount>300</WriteCount>
      <AverageReadLatencyMilliseconds>9.999</AverageReadLatencyMilliseconds></Target></Thread>
    <Thread><Id>1</Id><Target><Path>D:\\fit.tmp</Path><BytesCount>8192000</BytesCount><FileSize>10485760</FileSize>
      <IOCount>1001</IOCount><ReadBytes>5742592</ReadBytes><ReadCount>701</ReadCount>
      <WriteBytes>2457600</WriteBytes><WriteCount>300</WriteCount></Target></Thread>"""
SPAN = f"""
  <TimeSpan>
    <TestTimeSeconds>10.00</TestTimeSeconds>
    <ThreadCount>4</ThreadCount>
    <RequestCount>0</RequestCount>
    <CpuUtilization><Average><UsagePercent>18.33</UsagePercent></Average></CpuUtilization>{LATENCY}{THREADS}
  </TimeSpan>"""
XML = f"""<Results>
  <System><ComputerName>HOST</ComputerName><Tool><Version>2.1.0</Version></Tool></System>
  <Profile>
    <ResultFormat>xml</ResultFormat>
    <TimeSpans>{PROFILE}
    </TimeSpans>
  </Profile>{SPAN}
</Results>
"""


def changed(*changes: tuple[str, str], text: str = XML) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_both_directions_of_a_mix(tmp_path: Path) -> None:
    reads, writes = read(tmp_path, XML)
    assert (reads.operation, reads.requests, reads.iops, reads.seconds) == ("read", 1401, 140.1, 10)
    assert (writes.operation, writes.requests, writes.iops) == ("write", 600, 60)
    for point in (reads, writes):
        assert (point.pattern, point.block_bytes, point.depth, point.jobs) == ("random", 8192, 32, 4)
        assert (point.read_share, point.sync_every, point.sync, point.rate_limit_iops) == (0.7, 0, None, None)
        assert (point.direct, point.completion_only, point.submission_mean_ns, point.warnings) == (
            True,
            False,
            None,
            (),
        )
        assert point.job == "time span 1"
    assert (reads.mean_ns, reads.stddev_ns, reads.least_ns, reads.most_ns) == (250_000, 104_000, 71_000, 8_004_000)
    assert reads.percentiles == ((50.0, 233_000), (99.9, 1_901_000))
    assert (writes.mean_ns, writes.stddev_ns, writes.least_ns, writes.most_ns) == (31_000, 12_000, 17_000, 4_442_000)
    assert writes.percentiles == ((50.0, 29_000), (99.9, 302_000))


def test_write_through_in_words_of_old_and_new_versions(tmp_path: Path) -> None:
    cache = "<DisableOSCache>true</DisableOSCache>"
    for words in (cache + "<WriteThrough>true</WriteThrough>", "<DisableAllCache>true</DisableAllCache>"):
        point = read(tmp_path, changed((cache, words)))[1]
        assert (point.direct, point.sync_every, point.sync) == (True, 1, "write-through")
    point = read(tmp_path, changed((cache, "<DisableOSCache>false</DisableOSCache>")))[0]
    assert point.direct is False
    assert "page cache" in point.warnings[0]


@pytest.mark.parametrize(
    ("throughput", "reads"),
    [
        ('<Throughput unit="IOPS">1000</Throughput>', 4 * 1000 * 0.7),
        ("<Throughput>8192</Throughput>", 4 * 1000 * 0.7),  # bytes a millisecond of a thread
    ],
)
def test_rates(tmp_path: Path, throughput: str, reads: float) -> None:
    points = read(tmp_path, changed(("<Throughput>0</Throughput>", throughput)))
    assert points[0].rate_limit_iops == pytest.approx(reads)
    assert points[1].rate_limit_iops == pytest.approx(reads / 7 * 3)


def test_depth_of_threads_and_targets(tmp_path: Path) -> None:
    """The examples of DiskSpd's wiki: -F2 -o2 and -t2 -o2 on five files are 20 requests; -F2 -O4 is 8."""
    five = (TARGET, changed(("<RequestCount>8", "<RequestCount>2"), text=TARGET) * 5)
    own = changed(five, ("<ThreadsPerFile>4", "<ThreadsPerFile>2"))
    shared = changed(five, ("<ThreadCount>0", "<ThreadCount>2"))
    per_thread = changed(
        ("<RequestCount>0</RequestCount>\n        <Targets>", "<RequestCount>4</RequestCount><Targets>"), text=shared
    )
    found = [(read(tmp_path, text)[0].depth, read(tmp_path, text)[0].jobs) for text in (own, shared, per_thread)]
    assert found == [(20, 10), (20, 2), (8, 2)]


def test_several_time_spans(tmp_path: Path) -> None:
    deeper = changed(("<RequestCount>8", "<RequestCount>16"), text=PROFILE)
    text = changed((PROFILE, PROFILE + deeper), (SPAN, SPAN * 2))
    points = read(tmp_path, text)
    assert [(point.job, point.depth) for point in points] == [
        ("time span 1", 32), ("time span 1", 32), ("time span 2", 64), ("time span 2", 64)
    ]  # fmt: skip
    assert len(read(tmp_path, XML + XML)) == 4  # two runs in one file


def test_an_interrupted_time_span_is_nothing(tmp_path: Path) -> None:
    broken = "<TimeSpan><Error>The test was interrupted before the measurements began.</Error></TimeSpan>"
    text = changed((PROFILE, PROFILE * 2), (SPAN, broken + SPAN))
    assert [point.job for point in read(tmp_path, text)] == ["time span 2"] * 2
    with pytest.raises(TraceError, match="measured no read and no write"):
        read(tmp_path, changed((SPAN, broken)))


def test_without_latencies(tmp_path: Path) -> None:
    point = read(tmp_path, changed((LATENCY, "")))[0]
    assert (point.mean_ns, point.stddev_ns, point.least_ns, point.percentiles) == (None, None, None, ())
    assert point.completion_only is None
    assert point.warnings == ("latencies were not measured (-L is not set)",)


def test_addresses(tmp_path: Path) -> None:
    random = "<Random>8192</Random>"
    several = read(tmp_path, changed((random, "<StrideSize>8192</StrideSize>")))[0]
    assert several.pattern == "sequential"
    assert "same addresses" in several.warnings[0]
    apart = (random, "<StrideSize>8192</StrideSize><InterlockedSequential>true</InterlockedSequential>")
    assert read(tmp_path, changed(apart))[0].warnings == ()
    mixed = read(tmp_path, changed((random, random + "<RandomRatio>50</RandomRatio>")))[0]
    assert mixed.pattern is None
    assert "-rs" in mixed.warnings[0]
    skewed = read(tmp_path, changed((random, random + "<Distribution><Percent/></Distribution>")))[0]
    assert "-rd" in skewed.warnings[0]
    paused = read(tmp_path, changed((random, random + "<BurstSize>1</BurstSize><ThinkTime>5</ThinkTime>")))[0]
    assert "-i, -j" in paused.warnings[0]
    assert (paused.pauses, skewed.pauses) == (True, False)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_as_any_shell_saves_it(tmp_path: Path, encoding: str) -> None:
    """PowerShell writes UTF-16; messages may stand around it."""
    text = "WARNING: Could not set the valid file size\r\n" + XML.replace("\n", "\r\n") + "\r\ndone\r\n"
    assert read(tmp_path, text.encode(encoding)) == read(tmp_path, XML)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            changed((TARGET, TARGET + changed(("8192</Block", "4096</Block"), text=TARGET))),
            "asked for different things",
        ),
        (changed((PROFILE, "")), "results of 1 time spans and the profiles of 0"),
        (changed(("<BlockSize>8192</BlockSize>", "")), "says no block size or write ratio"),
        (changed((TARGET, "")), "says no block size or write ratio"),
        ("<a><Results></Results></a>", "is damaged or cut off"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)

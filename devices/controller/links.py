"""Links between host, controller and drives: what one direction carries, from the names that people use.

Every link here is full duplex. A rate is line rate × encoding × share of payload in a frame; commands, acknowledgements
and flow control are left out.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from tiersim.errors import did_you_mean


@dataclass(frozen=True)
class Link:
    """One lane of a link."""

    line_bits_per_s: int
    encoding: Fraction  # data bits in a line bit
    payload: Fraction  # bytes of data in a byte of frames
    source: str
    most_lanes: int = 1

    @property
    def bytes_per_s(self) -> int:
        """Bytes of data per second in one direction."""
        return int(self.line_bits_per_s * self.encoding * self.payload / 8)


_8B10B, _64B66B, _128B130B, _128B150B = Fraction(8, 10), Fraction(64, 66), Fraction(128, 130), Fraction(128, 150)

#: Two framing symbols, sequence number, header of 3 words, LCRC: 20 bytes around the 128 that a packet holds unless
#: system software allows more. Gen 3 and later have a token of 4 bytes for both symbols: as much.
_PCIE_PAYLOAD = Fraction(128, 128 + 20)
_PCIE = "PCI Express Base Specification; 128-byte payload and 20 bytes around it: Intel AN 456 and AN 708"
#: Start of frame, header of 24 bytes, CRC, end of frame around up to 1024 bytes.
_SAS_PAYLOAD = Fraction(1024, 1024 + 4 + 24 + 4 + 4)
_SAS = "SAS standards (T10): 8b/10b to 12 Gb/s, 128b/150b at 22.5 Gb/s; SSP frame of 1024 bytes and 36 around it"
#: Start, type word, CRC, end around up to 8192 bytes.
_SATA_PAYLOAD = Fraction(8192, 8192 + 16)
_SATA = "Serial ATA specification: 8b/10b, data FIS of 8192 bytes and 16 around it"
#: Start, header of 24 bytes, CRC, end and six idle words around 2048 bytes: 4, 8 and 16 GFC come to 413, 826 and 1652
#: MB/s, which the trade calls 400, 800 and 1600.
_FC_PAYLOAD = Fraction(2048, 2048 + 36 + 24)
_FC = "FC-PI and FC-FS: 1.0625 Gb/s times the speed with 8b/10b, 14.025 Gb/s with 64b/66b at 16GFC; frame of 2048 bytes"
#: TCP over IPv4: 1460 bytes of 1500, and 38 around those: preamble, header, CRC, gap.
_ETHERNET_PAYLOAD = Fraction(1460, 1538)
_ETHERNET = "IEEE 802.3: the name is the rate of data after encoding; TCP/IP in frames of 1500 bytes, 38 around them"


def _gigabits(value: str) -> int:
    return int(Fraction(value) * 10**9)


LINKS: dict[str, Link] = {
    **{
        f"sas{generation}": Link(_gigabits(rate), encoding, _SAS_PAYLOAD, _SAS, 16)
        for generation, rate, encoding in (
            (1, "3", _8B10B), (2, "6", _8B10B), (3, "12", _8B10B), (4, "22.5", _128B150B),
        )
    },
    **{
        f"sata{generation}": Link(_gigabits(rate), _8B10B, _SATA_PAYLOAD, _SATA)
        for generation, rate in ((1, "1.5"), (2, "3"), (3, "6"))
    },
    **{
        f"fc{speed}": Link(_gigabits(rate), encoding, _FC_PAYLOAD, _FC, 16)
        for speed, rate, encoding in (
            (2, "2.125", _8B10B), (4, "4.25", _8B10B), (8, "8.5", _8B10B), (16, "14.025", _64B66B),
        )
    },
    **{
        f"pcie{generation}": Link(_gigabits(rate), encoding, _PCIE_PAYLOAD, _PCIE, 16)
        for generation, rate, encoding in (
            (1, "2.5", _8B10B), (2, "5", _8B10B), (3, "8", _128B130B), (4, "16", _128B130B), (5, "32", _128B130B),
        )
    },
    **{
        f"ethernet{speed}": Link(_gigabits(str(speed)), Fraction(1), _ETHERNET_PAYLOAD, _ETHERNET, 16)
        for speed in (1, 10, 25, 40, 100)
    },
}  # fmt: skip


def link_bytes_per_s(name: str) -> int:
    """Bytes per second that a link carries in one direction, by a name such as ``sata3`` or ``pcie2-x8``; raises
    ValueError.
    """
    match = re.fullmatch(r"([a-z]+[0-9]+)(?:-x([0-9]+))?", name)
    if match is None or match[1] not in LINKS:
        kind = name.partition("-")[0]
        hint = did_you_mean(kind, LINKS) or f"; there are {', '.join(LINKS)}"
        raise ValueError(f"{name!r} is not a link such as 'pcie2-x8' or 'sas1-x4'{hint}")
    link, lanes = LINKS[match[1]], int(match[2] or 1)
    if not 0 < lanes <= link.most_lanes:
        raise ValueError(f"{name!r}: {match[1]} has 1 to {link.most_lanes} lanes, not {lanes}")
    return link.bytes_per_s * lanes

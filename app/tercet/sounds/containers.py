"""Checks sound files before decoding: their format, and whether they are complete.

The decoder takes a truncated file for a shorter one, and trusts a header that claims more than there is.
Every format says somewhere how many bytes of samples follow, or marks its last page; that is compared with the file.
"""

import os
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

W64_START = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
MOST_CHUNKS = 10_000  # a file of nothing but empty chunks must not keep anybody busy
UNKNOWN_32 = 0xFFFF_FFFF
OGG_PAGE_BYTES = 65_307  # the largest page
XING_REACH = 4_096
XING_TOLERANCE = 512  # encoders count tags and the first frame differently
ID3_HEADER = 10
MPEG_1_BIT_RATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)  # thousands a second
MPEG_2_BIT_RATES = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
MPEG_1_RATES = (44_100, 48_000, 32_000)
PLAIN_SAMPLES = (1, 3, 0xFFFE)  # format tags of WAV: PCM, float, and either with more channels
CUT_OFF = "the file is cut off: its header tells of {claimed:,} bytes, {present:,} are there"

Check = Callable[[BinaryIO, int], None]


def format_of(first_bytes: bytes) -> str | None:
    """Return the format of a file of sound by its first 16 bytes, None if it is none that can be decoded."""
    start, kind = first_bytes[:4], first_bytes[8:12]
    if start in (b"RIFF", b"RIFX", b"RF64") and kind == b"WAVE":
        return "WAV"
    if start == b"FORM" and kind in (b"AIFF", b"AIFC"):
        return "AIFF"
    if first_bytes.startswith(W64_START):
        return "W64"
    if _begins_mp3(first_bytes):
        return "MP3"
    return {b"fLaC": "FLAC", b"OggS": "OGG", b"caff": "CAF", b".snd": "AU"}.get(start)


def _begins_mp3(first_bytes: bytes) -> bool:
    """Return whether this is an ID3 tag or the header of a frame of layer III with a bit rate and a sampling rate."""
    if first_bytes.startswith(b"ID3"):
        return True
    if len(first_bytes) < 3 or first_bytes[0] != 0xFF or first_bytes[1] & 0xE6 != 0xE2:
        return False
    return first_bytes[1] & 0x18 != 0x08 and first_bytes[2] >> 4 not in (0, 15) and first_bytes[2] & 0x0C != 0x0C


def check_length(stream: BinaryIO) -> int:
    """Return the length of the file in bytes; raise ValueError if it is shorter than its header says, or no sound."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    kind = format_of(stream.read(16))
    if kind is None:
        raise ValueError("is no sound that can be read: WAV, FLAC, OGG, Opus, MP3, AIFF, W64, CAF and AU can")
    try:
        CHECKS[kind](stream, size)
    except struct.error:
        raise ValueError("the header is damaged, or the file ends within it") from None
    stream.seek(0)
    return size


def _require(claimed: int, size: int) -> None:
    if claimed > size:
        raise ValueError(CUT_OFF.format(claimed=claimed, present=size))


def _check_wav(stream: BinaryIO, size: int) -> None:
    stream.seek(0)
    order = ">" if stream.read(4) == b"RIFX" else "<"
    long_size = None
    for name, begin, length in _chunks(stream, 12, size, order + "4sI", 2):
        if name == b"ds64":
            _, long_size = struct.unpack("<QQ", stream.read(16))
        elif name == b"fmt ":
            _check_byte_rate(*struct.unpack(order + "HHIIH", stream.read(14)))
        elif name == b"data":
            unknown = length == UNKNOWN_32 and long_size is not None
            _require(begin + (long_size if unknown and long_size is not None else length), size)
            return
    raise ValueError("the header is damaged or the file is cut off: it holds no samples")


def _check_byte_rate(tag: int, channels: int, rate: int, byte_rate: int, frame_bytes: int) -> None:
    if tag in PLAIN_SAMPLES and byte_rate != rate * frame_bytes:
        raise ValueError(
            f"the header contradicts itself: {rate:,} frames a second of {frame_bytes} bytes each "
            f"are not {byte_rate:,} bytes a second"
        )


def _check_aiff(stream: BinaryIO, size: int) -> None:
    for name, begin, length in _chunks(stream, 12, size, ">4sI", 2):
        if name == b"SSND":
            _require(begin + length, size)
            return
    raise ValueError("the header is damaged or the file is cut off: it holds no samples")


def _check_w64(stream: BinaryIO, size: int) -> None:
    for name, begin, length in _chunks(stream, 40, size, "<16sQ", 8):
        if name.startswith(b"data"):
            _require(begin + length - 24, size)
            return
    raise ValueError("the header is damaged or the file is cut off: it holds no samples")


def _check_caf(stream: BinaryIO, size: int) -> None:
    for name, begin, length in _chunks(stream, 8, size, ">4sq", 1):
        if name == b"data":
            _require(begin + max(length, 4), size)  # -1: as far as the file goes
            return
    raise ValueError("the header is damaged or the file is cut off: it holds no samples")


def _chunks(stream: BinaryIO, begin: int, size: int, header: str, even: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, first byte and length of every chunk; the lengths of W64 count the header of the chunk."""
    own = struct.calcsize(header)
    counted = own if even == 8 else 0
    for _ in range(MOST_CHUNKS):
        if begin + own > size:
            return
        stream.seek(begin)
        name, length = struct.unpack(header, stream.read(own))
        yield name, begin + own, length
        body = max(length, 0) - counted
        if body < 0:
            return
        begin += own + -(-body // even) * even


def _check_au(stream: BinaryIO, size: int) -> None:
    stream.seek(4)
    begin, length = struct.unpack(">II", stream.read(8))
    _require(begin + (0 if length == UNKNOWN_32 else length), size)


def _check_ogg(stream: BinaryIO, size: int) -> None:
    stream.seek(max(0, size - OGG_PAGE_BYTES))
    end = stream.read()
    page = end.rfind(b"OggS")
    if page < 0 or page + 27 > len(end) or not end[page + 5] & 4:
        raise ValueError("the file is cut off: its last page is missing")
    segments = end[page + 26]
    lengths = end[page + 27 : page + 27 + segments]
    _require(size - len(end) + page + 27 + segments + sum(lengths), size)


def _check_mp3(stream: BinaryIO, size: int) -> None:
    """Compare with the number of bytes that most encoders write into the first frame."""
    begin = _end_of_id3(stream)
    _require(begin, size)
    stream.seek(begin)
    first_frame = stream.read(XING_REACH)
    place = next((first_frame.find(name) for name in (b"Xing", b"Info") if name in first_frame), -1)
    if place >= 0 and len(first_frame) >= place + 16:
        flags, *numbers = struct.unpack(">III", first_frame[place + 4 : place + 16])
        if flags & 2:
            claimed = numbers[1] if flags & 1 else numbers[0]
            _require(begin + claimed - XING_TOLERANCE, size)


def _end_of_id3(stream: BinaryIO) -> int:
    """Return where the tag before the first frame of an MP3 file ends."""
    stream.seek(0)
    tag = stream.read(ID3_HEADER)
    if not tag.startswith(b"ID3") or len(tag) < ID3_HEADER:
        return 0
    return ID3_HEADER + (tag[6] << 21 | tag[7] << 14 | tag[8] << 7 | tag[9])


def count_mp3_samples(stream: BinaryIO) -> int:
    """Return how many samples the frames of an MP3 file hold that follow each other from the first one on."""
    before = stream.tell()
    place, samples = _end_of_id3(stream), 0
    while True:
        stream.seek(place)
        header = stream.read(4)
        if len(header) < 4 or not _begins_mp3(header):
            break
        is_mpeg_1, has_full_rate = header[1] & 0x18 == 0x18, header[1] & 0x10
        bit_rate = (MPEG_1_BIT_RATES if is_mpeg_1 else MPEG_2_BIT_RATES)[header[2] >> 4]
        rate = MPEG_1_RATES[header[2] >> 2 & 3] // (1 if is_mpeg_1 else 2 if has_full_rate else 4)
        place += (144_000 if is_mpeg_1 else 72_000) * bit_rate // rate + (header[2] >> 1 & 1)
        samples += 1_152 if is_mpeg_1 else 576
    stream.seek(before)
    return samples


def _check_nothing(stream: BinaryIO, size: int) -> None:
    """Do nothing: of FLAC files the decoder reads the last frames instead."""


CHECKS: dict[str, Check] = {
    "WAV": _check_wav,
    "AIFF": _check_aiff,
    "W64": _check_w64,
    "CAF": _check_caf,
    "AU": _check_au,
    "OGG": _check_ogg,
    "MP3": _check_mp3,
    "FLAC": _check_nothing,
}

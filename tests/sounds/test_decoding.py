"""Files of sound in: every format, exact samples, and a sentence for what is damaged, cut off or lying."""

import inspect
import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tercet.sounds.decoding import (
    BLOCK_SAMPLES,
    cut_clip,
    describe_sound,
    is_sound,
    read_blocks,
    read_sound,
    resample,
)
from tests.sounds.support import RATE, sine, sound_file

FORMATS = [
    ("WAV", "PCM_16", "WAV"),
    ("WAV", "PCM_U8", "WAV"),
    ("WAV", "PCM_24", "WAV"),
    ("WAV", "PCM_32", "WAV"),
    ("WAV", "FLOAT", "WAV"),
    ("WAV", "DOUBLE", "WAV"),
    ("WAV", "ULAW", "WAV"),
    ("WAV", "IMA_ADPCM", "WAV"),
    ("WAVEX", "PCM_24", "WAVEX"),
    ("RF64", "PCM_16", "RF64"),
    ("W64", "PCM_16", "W64"),
    ("AIFF", "PCM_16", "AIFF"),
    ("AIFF", "FLOAT", "AIFF"),
    ("CAF", "PCM_16", "CAF"),
    ("CAF", "ALAC_16", "CAF"),
    ("AU", "PCM_16", "AU"),
    ("FLAC", "PCM_16", "FLAC"),
    ("FLAC", "PCM_24", "FLAC"),
    ("OGG", "VORBIS", "OGG"),
    ("OGG", "OPUS", "OGG"),
    ("MP3", "MPEG_LAYER_III", "MP3"),
]
TONE = 0.7 * sine(440, 1.0, 48_000)
GOOD = sound_file(TONE, 48_000)


@pytest.mark.parametrize(("kind", "encoding", "name"), FORMATS)
def test_every_format_comes_back(kind: str, encoding: str, name: str) -> None:
    content = sound_file(TONE, 48_000, kind, encoding)
    assert is_sound(content[:16])
    sound = read_sound(io.BytesIO(content))
    assert (sound.rate, sound.channels, sound.format, sound.samples.dtype) == (48_000, 1, name, np.float32)
    assert sound.seconds == pytest.approx(1.0, abs=0.06)
    assert abs(np.abs(np.fft.rfft(sound.samples[2_000:42_000])).argmax() - 440 * 40_000 / 48_000) < 1
    assert sound.samples[2_000:42_000].std() == pytest.approx(0.7 / np.sqrt(2), rel=0.05)


@pytest.mark.parametrize(("kind", "encoding", "name"), FORMATS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_file_that_is_cut_off_is_refused(kind: str, encoding: str, name: str, share: float) -> None:
    content = sound_file(TONE, 48_000, kind, encoding)
    cut = content[: round(len(content) * share)]
    if kind == "MP3" and b"Info" not in content[:200] and b"Xing" not in content[:200]:
        pytest.skip("this encoder writes no length")
    with pytest.raises(ValueError, match=r"cut off|damaged"):
        describe_sound(io.BytesIO(cut))


@pytest.mark.parametrize("rate", [100, 8_000, 44_100, 192_000, 384_000, 500_000])
def test_rates_of_every_recorder(rate: int, tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(sound_file(0.1 * np.ones(1_000), rate))
    info = describe_sound(path)
    assert (info.rate, info.frames, info.channels) == (rate, 1_000, 1)
    assert info.seconds == pytest.approx(1_000 / rate)


@pytest.mark.parametrize("big_endian", [False, True])
def test_24_bit_of_8_channels_are_mixed(big_endian: bool) -> None:
    values = np.random.default_rng(0).uniform(-0.5, 0.5, (2_000, 8))
    out = io.BytesIO()
    soundfile.write(out, values, 96_000, subtype="PCM_24", format="WAV", endian="BIG" if big_endian else "LITTLE")
    sound = read_sound(io.BytesIO(out.getvalue()))
    assert (sound.rate, sound.channels) == (96_000, 8)
    np.testing.assert_allclose(sound.samples, values.mean(axis=1), atol=1e-6)


def wav_header(rate: int = RATE, frame_bytes: int = 2, byte_rate: int | None = None, length: int = 2) -> bytes:
    """The first 44 bytes of a 16-bit WAV file, as a header may claim."""
    format_chunk = struct.pack("<HHIIHH", 1, 1, rate, rate * 2 if byte_rate is None else byte_rate, frame_bytes, 16)
    return (
        b"RIFF"
        + struct.pack("<I", min(36 + length, 0xFFFFFFFF))
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + format_chunk
        + b"data"
        + struct.pack("<I", length)
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no sound"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no sound"),
        (GOOD[:20], "damaged"),
        (GOOD[:43], "damaged"),
        (GOOD[:20] + b"\x77\x77" + GOOD[22:], "cannot be decoded"),
        (sound_file(np.zeros(0)), "length is zero"),
        (wav_header(1_000_000_000) + b"\0\0", r"1,000,000,000 Hz cannot be"),
        (wav_header(4_000_000) + b"\0\0", "4,000,000 Hz cannot be"),
        (wav_header(50) + b"\0\0", "50 Hz cannot be"),
        (wav_header(byte_rate=RATE * 4) + b"\0\0", "contradicts itself"),
        (wav_header(length=4_000_000_000) + bytes(4_000), "cut off: its header tells of 4,000,000,044 bytes"),
        (wav_header(length=0xFFFFFFFF) + bytes(4_000), "cut off"),
        (sound_file(np.array([0.0, np.nan]), encoding="FLOAT"), "not numbers"),
        (sound_file(np.array([0.0, np.inf]), encoding="FLOAT"), "not numbers"),
        (sound_file(np.array([0.0, 1e38]), encoding="FLOAT"), "larger than any sound"),
        (sound_file(np.array([0.0, -1e308]), encoding="DOUBLE"), "not numbers"),
        (sound_file(np.array([[0.0, 1e38], [1e38, 3e38]]), encoding="FLOAT"), "larger than any sound"),
    ],
)
def test_a_file_that_is_wrong_says_why(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_sound(io.BytesIO(content))


def test_rf64_that_claims_half_a_terabyte() -> None:
    content = bytearray(sound_file(TONE, 48_000, "RF64"))
    place = content.index(b"ds64") + 8
    content[place + 8 : place + 16] = struct.pack("<Q", 1 << 39)
    with pytest.raises(ValueError, match="cut off"):
        describe_sound(io.BytesIO(bytes(content)))


def test_flac_that_claims_more_than_it_can_hold() -> None:
    content = bytearray(sound_file(np.zeros(48_000), 48_000, "FLAC"))
    content[21] |= 0x0F  # the upper bits of the number of samples
    with pytest.raises(ValueError, match=r"more than [\d,]+ bytes can hold"):
        describe_sound(io.BytesIO(bytes(content)))


def test_a_long_recording_is_refused_whole_and_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tercet.sounds.decoding.MOST_SAMPLES", 2 * BLOCK_SAMPLES)
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, 2 * BLOCK_SAMPLES + 1_000).astype(np.float32)
    path = tmp_path / "night.wav"
    path.write_bytes(sound_file(samples, encoding="FLOAT"))
    with pytest.raises(ValueError, match="too long for one sound"):
        read_sound(path)
    blocks = list(read_blocks(path))
    assert max(len(block) for block in blocks) <= BLOCK_SAMPLES
    np.testing.assert_array_equal(np.concatenate(blocks), samples)
    stretch = np.concatenate(list(read_blocks(path, 1.0, 2.5)))
    np.testing.assert_array_equal(stretch, samples[RATE : round(2.5 * RATE)])


@pytest.mark.parametrize("bounds", [(-1, 1), (1, 1), (2, 1), (0, 99), (50, None), (float("nan"), 1)])
def test_a_stretch_outside_of_the_recording(recording: Path, bounds: tuple[float, float | None]) -> None:
    with pytest.raises(ValueError, match=r"no stretch|NaN"):
        list(read_blocks(recording, *bounds))


@pytest.mark.parametrize(
    ("encoding", "numbers"),
    [("PCM_U8", "int16"), ("PCM_16", "int16"), ("PCM_24", "int32"), ("FLOAT", "float32"), ("DOUBLE", "float64")],
)
def test_a_segment_is_cut_exactly(encoding: str, numbers: str) -> None:
    stereo = np.random.default_rng(1).uniform(-0.9, 0.9, (30_000, 2))
    content = sound_file(stereo, 44_100, encoding=encoding)
    samples, _ = soundfile.read(io.BytesIO(content), dtype=numbers)
    cut, rate = soundfile.read(io.BytesIO(cut_clip(io.BytesIO(content), 0.1, 0.35)), dtype=numbers)
    assert rate == 44_100
    np.testing.assert_array_equal(cut, samples[4_410 : round(0.35 * 44_100)])


@pytest.mark.parametrize(("kind", "encoding"), [("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III")])
def test_segments_of_other_formats_become_wav(kind: str, encoding: str) -> None:
    content = sound_file(TONE, 48_000, kind, encoding)
    samples = read_sound(io.BytesIO(content)).samples
    cut = read_sound(io.BytesIO(cut_clip(io.BytesIO(content), 0.25, 0.5)))
    assert (cut.format, cut.rate, cut.samples.size) == ("WAV", 48_000, 12_000)
    np.testing.assert_allclose(cut.samples, samples[12_000:24_000], atol=2e-4)


@pytest.mark.parametrize(("kind", "encoding", "name"), FORMATS)
def test_blocks_are_what_is_decoded_at_once(
    kind: str, encoding: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder of MP3 loses its memory between two reads, if nothing is done about it."""
    content = sound_file(np.repeat([0.2, 0.7], 24_000) * sine(440, 1.0, 48_000), 48_000, kind, encoding)
    samples, _ = soundfile.read(io.BytesIO(content), dtype="float32")
    monkeypatch.setattr("tercet.sounds.decoding.BLOCK_SAMPLES", 7_001)
    blocks = np.concatenate(list(read_blocks(io.BytesIO(content))))
    np.testing.assert_allclose(blocks, samples, atol=1e-4)
    stretch = np.concatenate(list(read_blocks(io.BytesIO(content), 0.3, 0.6)))
    np.testing.assert_allclose(stretch, samples[14_400:28_800], atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_mp3_without_its_first_frame_is_read_whole_or_refused(rate: int, mode: str) -> None:
    if "bitrate_mode" not in inspect.signature(soundfile.write).parameters:
        pytest.skip("this soundfile writes MP3 in one way alone")
    loudness = np.repeat([0.001, 0.3, 0.0001], 5 * rate)
    samples = loudness * np.random.default_rng(0).normal(size=loudness.size)
    out = io.BytesIO()
    options = {"bitrate_mode": mode, "compression_level": 0.5}
    soundfile.write(out, samples, rate, subtype="MPEG_LAYER_III", format="MP3", **options)
    content = out.getvalue()
    assert describe_sound(io.BytesIO(content)).seconds == pytest.approx(15, abs=0.2)
    bare = content[content.index(content[:2], 4) :]
    if mode == "VARIABLE":
        with pytest.raises(ValueError, match="does not tell its length"):
            describe_sound(io.BytesIO(bare))
    else:
        assert read_sound(io.BytesIO(bare)).seconds == pytest.approx(15, abs=0.2)


def test_resampling_keeps_what_both_rates_hold() -> None:
    samples = sine(1_000, 1.0, 48_000).astype(np.float32)
    half = resample(samples, 48_000, 24_000)
    assert half.size == 24_000
    np.testing.assert_allclose(half[500:-500], samples[1_000:-1_000:2], atol=1e-3)
    assert resample(samples, 48_000, 48_000) is samples
    assert np.abs(resample(sine(20_000, 1.0, 48_000).astype(np.float32), 48_000, 24_000)[500:-500]).max() < 1e-3


def test_any_damage_to_a_header_gives_sound_or_a_sentence() -> None:
    rng = np.random.default_rng(0)
    outcomes = {True: 0, False: 0}
    for kind, encoding in (("WAV", "PCM_16"), ("AIFF", "PCM_16"), ("W64", "PCM_16"), ("CAF", "PCM_16")):
        good = sound_file(TONE[:4_000], 48_000, kind, encoding)
        for _ in range(150):
            content = bytearray(good)
            for place in rng.integers(0, 60, size=2):
                content[place] = rng.integers(256)
            try:
                assert np.isfinite(read_sound(io.BytesIO(bytes(content))).samples).all()
                outcomes[True] += 1
            except ValueError:
                outcomes[False] += 1
    assert min(outcomes.values()) > 50

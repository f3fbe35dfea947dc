"""Segments proposed in scenes whose true calls are known, in memory, from files, and by the command."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tercet.cli import cli
from tercet.sounds.segments import SegmentSettings, propose_segments, segment_recording
from tercet.sounds.selection import Selection
from tercet.sounds.selections import read_selections
from tests.sounds.support import RATE, sound_file

SETTINGS = SegmentSettings()


def scene(seed: int, seconds: float = 30.0, loudness: float = 0.02) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Wind, hum and hiss with calls of known begin, length and pitch, 0.4 to 2 seconds apart."""
    rng = np.random.default_rng(seed)
    n = round(seconds * RATE)
    wind = np.cumsum(rng.normal(size=n))
    wind -= np.linspace(wind[0], wind[-1], n)
    time = np.arange(n) / RATE
    samples = 0.002 * rng.normal(size=n) + 1e-4 * wind + 0.01 * np.sin(2 * np.pi * 1_000 * time)
    calls, begin = [], 1.0
    while begin < seconds - 1.5:
        length = rng.uniform(0.08, 0.5)
        size = round(length * RATE)
        hz = rng.uniform(2_000, 8_000) * 2 ** (rng.uniform(-0.3, 0.3) * np.linspace(0, 1, size))
        place = round(begin * RATE)
        envelope = np.minimum(1, 5 * np.minimum(np.linspace(0, 1, size), np.linspace(1, 0, size)))
        samples[place : place + size] += loudness * envelope * np.sin(2 * np.pi * np.cumsum(hz) / RATE)
        calls.append((begin, begin + length))
        begin += length + rng.uniform(0.4, 2.0)
    return samples.astype(np.float32), calls


def segments_of(samples: np.ndarray, rate: int, settings: SegmentSettings) -> list[Selection]:
    return propose_segments([samples], rate, len(samples) / rate, settings)


def overlap(one: tuple[float, float], two: tuple[float, float]) -> float:
    """The share that two stretches have in common of what they cover together."""
    common = min(one[1], two[1]) - max(one[0], two[0])
    return max(common, 0.0) / (max(one[1], two[1]) - min(one[0], two[0]))


def test_precision_and_recall_in_noise() -> None:
    hits = n_proposed = n_calls = 0
    for seed in range(8):
        samples, calls = scene(seed)
        stretches = [(s.begin_s, s.end_s) for s in segments_of(samples, RATE, SegmentSettings(pad=0.0))]
        hits += sum(max((overlap(call, stretch) for stretch in stretches), default=0.0) > 0.6 for call in calls)
        n_proposed += len(stretches)
        n_calls += len(calls)
    assert n_calls > 100
    assert hits / n_calls > 0.97
    assert hits / n_proposed > 0.95


def test_noise_alone_holds_hardly_any_segment() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=300 * RATE).astype(np.float32)
    assert len(segments_of(noise, RATE, SETTINGS)) <= 3
    assert segments_of(np.zeros(10 * RATE, dtype=np.float32), RATE, SETTINGS) == []


def test_a_call_in_digital_silence_is_one_segment() -> None:
    samples = np.zeros(2 * RATE, dtype=np.float32)
    samples[RATE : RATE + 4_000] = 0.5 * np.sin(2 * np.pi * 3_000 / RATE * np.arange(4_000))
    [segment] = segments_of(samples, RATE, SETTINGS)
    assert segment.begin_s == pytest.approx(0.95, abs=0.03)
    assert segment.end_s == pytest.approx(1 + 4_000 / RATE + 0.05, abs=0.03)
    assert segment.low_hz <= 3_000 <= segment.high_hz


def test_the_frequency_range_of_a_segment_is_that_of_its_call() -> None:
    samples, _ = scene(1, loudness=0.0)
    place = np.arange(RATE // 2) / RATE
    samples[5 * RATE : 5 * RATE + RATE // 2] += 0.05 * np.sin(2 * np.pi * (4_000 * place + 2_000 * place**2))
    [segment] = segments_of(samples, RATE, SETTINGS)
    assert 3_300 < segment.low_hz < 4_300
    assert 5_700 < segment.high_hz < 7_200


def test_gap_shortest_pad_and_threshold() -> None:
    rng = np.random.default_rng(0)
    samples = 1e-3 * rng.normal(size=4 * RATE).astype(np.float32)
    for begin in (1.0, 1.3, 3.0):
        place = round(begin * RATE)
        tone = np.sin(2 * np.pi * 4_000 / RATE * np.arange(RATE // 10))
        samples[place : place + RATE // 10] += (0.05 * np.hanning(RATE // 10) * tone).astype(np.float32)

    def proposed(**changes: float) -> list[Selection]:
        return segments_of(samples, RATE, SegmentSettings(**changes))

    assert len(proposed(smallest_gap=0.1)) == 3
    assert len(proposed(smallest_gap=0.3)) == 2
    assert len(proposed(shortest=0.3)) == 0
    assert len(proposed(threshold_db=60)) == 0
    bare, padded = proposed(pad=0.0)[0], proposed(pad=0.1)[0]
    assert padded.end_s - padded.begin_s == pytest.approx(bare.end_s - bare.begin_s + 0.2)
    assert proposed(pad=2.0)[0].begin_s == 0.0
    assert proposed(pad=2.0)[-1].end_s == 4.0
    assert len(proposed(low_hz=5_000)) == 0


@pytest.mark.parametrize("rate", [8_000, 192_000])
def test_ultrasound_and_low_rates(rate: int) -> None:
    rng = np.random.default_rng(3)
    samples = 1e-3 * rng.normal(size=rate).astype(np.float32)
    hz = rate / 4
    samples[rate // 2 : rate // 2 + rate // 20] += 0.1 * np.sin(2 * np.pi * hz / rate * np.arange(rate // 20))
    [segment] = segments_of(samples, rate, SegmentSettings(hz / 2, hz * 3))
    assert segment.begin_s < 0.5 < 0.55 < segment.end_s
    assert segments_of(samples[:10], rate, SETTINGS) == []
    assert segments_of(samples, rate, SegmentSettings(rate, 2 * rate)) == []


@pytest.mark.parametrize("kind", ["WAV", "FLAC"])
def test_a_file_in_blocks_gives_what_the_samples_give(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, _ = scene(2)
    path = tmp_path / "scene"
    path.write_bytes(sound_file(samples, kind=kind, encoding="PCM_24"))
    at_once = segments_of(np.round(samples * 2**23).astype(np.float32) / np.float32(2**23), RATE, SETTINGS)
    monkeypatch.setattr("tercet.sounds.decoding.BLOCK_SAMPLES", 10_007)
    in_blocks = segment_recording(path, SETTINGS)
    assert len(in_blocks) == len(at_once) > 10
    for block_segment, two in zip(in_blocks, at_once, strict=True):
        assert (block_segment.begin_s, block_segment.end_s, block_segment.low_hz) == pytest.approx(
            (two.begin_s, two.end_s, two.low_hz)
        )


@pytest.mark.parametrize(
    "change",
    [{"low_hz": 11_000}, {"low_hz": -1}, {"threshold_db": 0}, {"pad": -1}, {"smallest_gap": 99}, {"shortest": -1}],
)
def test_settings_that_make_no_sense(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"have to|has to"):
        SegmentSettings(**change)


def test_the_command_writes_a_raven_table_beside_each_recording(recording: Path) -> None:
    inner = recording.parent / "site" / "dusk.flac"
    inner.parent.mkdir()
    inner.write_bytes(sound_file(scene(0)[0], kind="FLAC"))
    (recording.parent / "notes.txt").write_text("windy")
    run = CliRunner().invoke(cli, ["segment", str(recording.parent)])
    assert run.exit_code == 0, run.output
    table = recording.parent / "dawn.Table.1.selections.txt"
    first, second = read_selections(table, table.name)
    assert first.begin_s < 5_000 / RATE < 10_000 / RATE < first.end_s < second.begin_s < 1.0 < second.end_s
    assert first.recording == "dawn.wav"
    assert "2 segments" in run.output
    assert (inner.parent / "dusk.Table.1.selections.txt").exists()
    before = table.read_text()
    table.write_text("corrected by hand")
    again = CliRunner().invoke(cli, ["segment", str(recording.parent)])
    assert again.exit_code == 1
    assert "is there already, nothing was written" in again.output
    assert table.read_text() == "corrected by hand"
    forced = CliRunner().invoke(cli, ["segment", str(recording.parent), "--force"])
    assert (forced.exit_code, table.read_text()) == (0, before)


def test_the_command_says_what_is_wrong(recording: Path) -> None:
    runner = CliRunner()
    assert "low_hz has to lie below high_hz" in runner.invoke(cli, ["segment", str(recording), "--low", "20000"]).output
    recording.write_bytes(recording.read_bytes()[:1_000])
    run = runner.invoke(cli, ["segment", str(recording)])
    assert run.exit_code == 1
    assert "cut off" in run.output
    assert "1 of 1 recordings could not be read" in run.output
    empty = recording.parent / "empty"
    empty.mkdir()
    assert "There is no recording in" in runner.invoke(cli, ["segment", str(empty)]).output
    (empty / "a.wav").write_bytes(sound_file(np.zeros(100)))
    (empty / "a.flac").write_bytes(sound_file(np.zeros(100), kind="FLAC"))
    assert "differ in their endings alone" in runner.invoke(cli, ["segment", str(empty)]).output

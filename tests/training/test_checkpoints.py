"""A checkpoint is read as it was written, or refused; never half, never with a traceback."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.errors import InputError
from orchestrace.training.checkpoints import NEWEST, PREVIOUS, Checkpoint, find, read, save

HELD = Checkpoint(
    {"policy/weight": np.arange(6, dtype=np.float32).reshape(2, 3), "optimiser/0/step": np.float32(4)},
    {"update": 3, "die": {"state": 2**100}},
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    save(HELD, folder)
    return (folder / NEWEST).read_bytes()


def same(a, b):
    arrays = a.arrays.keys() == b.arrays.keys() and all(np.array_equal(a.arrays[k], b.arrays[k]) for k in a.arrays)
    return arrays and {**a.note, "format": 1} == {**b.note, "format": 1}


def test_it_comes_back_and_equal_states_are_equal_bytes(tmp_path, written):
    save(HELD, tmp_path)
    assert same(read(tmp_path / NEWEST), HELD)
    assert (tmp_path / NEWEST).read_bytes() == written
    assert not (tmp_path / PREVIOUS).exists()
    save(Checkpoint(HELD.arrays, {**HELD.note, "update": 4}), tmp_path)
    assert (tmp_path / PREVIOUS).read_bytes() == written
    assert {path.name for path in tmp_path.iterdir()} == {NEWEST, PREVIOUS}


def refused_or_same(path, data):
    path.write_bytes(data)
    try:
        found = read(path)
    except InputError:
        return
    assert same(found, HELD)


def test_every_truncation_is_refused(tmp_path, written):
    path = tmp_path / "cut.npz"
    for length in range(0, len(written), 7):
        path.write_bytes(written[:length])
        with pytest.raises(InputError, match="truncated or corrupt"):
            read(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damaged_byte_passes(tmp_path_factory, written, data):
    at = data.draw(st.integers(0, len(written) - 1))
    flipped = data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    refused_or_same(path, written[:at] + bytes([written[at] ^ flipped]) + written[at + 1 :])


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=300))
def test_noise_is_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "noise.npz"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read(path)


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "pickle.npz"
    np.savez(path, note=np.array([{"format": 1}], dtype=object))
    with pytest.raises(InputError):
        read(path)


def test_another_format_says_so(tmp_path):
    path = tmp_path / "later.npz"
    np.savez(path, note=np.frombuffer(b'{"format": 2}', dtype=np.uint8))
    with pytest.raises(InputError, match="format 2, not 1"):
        read(path)


def test_a_crash_between_the_two_renames_loses_nothing(tmp_path):
    save(HELD, tmp_path)
    (tmp_path / NEWEST).replace(tmp_path / PREVIOUS)
    found = find(tmp_path)
    assert same(found.checkpoint, HELD)
    assert found.corrupt == 0


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(InputError, match="no checkpoint"):
        find(tmp_path)

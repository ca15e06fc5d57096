"""Output files are whole or not there, and nothing but a file is written over."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrace.cli.files import write
from orchestrace.errors import InputError


def test_a_file_is_written_over_whole(tmp_path):
    place = tmp_path / "new" / "a.json"
    write(place, b"1")
    assert write(place, b"22").read_bytes() == b"22"
    assert list(place.parent.iterdir()) == [place]


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


@pytest.mark.parametrize("what", ["folder", "pipe", "below a file", "name too long"])
def test_what_cannot_be_written_stays(tmp_path, what):
    place = tmp_path / "a"
    if what == "folder":
        place.mkdir()
    elif what == "pipe":  # as /dev/null or /dev/stdout: renaming over it would destroy it
        os.mkfifo(place)
    elif what == "below a file":
        place.write_bytes(b"kept")
        place = place / "b"
    else:
        place = tmp_path / ("a" * 300)
    before = sorted((path, path.stat().st_mode) for path in tmp_path.iterdir())
    with pytest.raises(InputError) as refused:
        write(place, b"1")
    assert refused.value.path == str(place)
    assert sorted((path, path.stat().st_mode) for path in tmp_path.iterdir()) == before


def test_killed_while_writing_leaves_the_old_file(tmp_path):
    place = tmp_path / "a.json"
    place.write_bytes(b"old")
    killed = (
        "import os, signal, sys, pathlib\n"
        "from orchestrace.cli.files import write\n"
        "def half(self, data):\n"
        "    with self.open('wb') as file:\n"
        "        file.write(data[:1]); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path.write_bytes = half\n"
        "write(pathlib.Path(sys.argv[1]), b'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert place.read_bytes() == b"old"


def test_an_error_leaves_nothing_beside(tmp_path, monkeypatch):
    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left"):
        write(tmp_path / "a", b"12")
    assert list(tmp_path.iterdir()) == []

import os
import zipfile

import pytest

from adapters.logs import SESSION, Log, child
from adapters.test_conformance import own_document, own_session
from orchestrace.adapters import BytesFiles, Match, Read, Skip, files, files_at, opening, read_files, read_path
from orchestrace.errors import LogError


def write(folder, contents):
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def ids(path):
    return sorted(outcome.trace.trace_id for outcome in read_path(path) if isinstance(outcome, Read))


def test_a_folder_may_hold_several_formats(tmp_path):
    write(tmp_path, own_session() | own_document() | {"notes.md": b"x"})
    assert ids(tmp_path) == [f"claude_code:{SESSION}", "n"]
    assert [o for o in read_path(tmp_path) if isinstance(o, Skip)] == [Skip("notes.md", "no adapter knows its content")]


def test_a_file_brings_its_sub_agents_and_nothing_else(tmp_path):
    other = Log(session="22222222-2222-4222-8222-222222222222")
    other.user(0.0, "else")
    flat = child("k3", "r", 2.0, 3.0)
    contents = own_session() | {f"{other.session}.jsonl": other.bytes(), "agent-k3.jsonl": flat.bytes()}
    write(tmp_path, contents)
    (read,) = read_path(tmp_path / f"{SESSION}.jsonl")
    assert {agent.id for agent in read.trace.agents} == {"main", "k1", "k2", "k3"}
    assert read.trace.source.files[0].name == f"{SESSION}.jsonl"
    (lone,) = read_path(tmp_path / f"{other.session}.jsonl")
    assert [agent.id for agent in lone.trace.agents] == ["main"]


def test_an_archive_is_read_like_its_folder(tmp_path):
    folder = write(tmp_path / "logs", own_session())
    with zipfile.ZipFile(tmp_path / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in own_session().items():
            archive.writestr(name, data)
    (plain,), (packed,) = read_path(folder), read_path(tmp_path / "logs.zip")
    assert plain == packed


def test_a_path_that_cannot_be_read_says_what_to_do(tmp_path):
    with pytest.raises(LogError, match=r"nothing-here: no such file or folder; check the path"):
        list(read_path(tmp_path / "nothing-here"))
    with pytest.raises(LogError, match="neither a file nor a folder"):
        list(read_path(os.devnull))
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(LogError, match="no zip archive"):
        list(read_path(tmp_path / "bad.zip"))


def test_a_damaged_member_is_a_skip(tmp_path):
    place = tmp_path / "logs.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for name, data in own_session().items():
            archive.writestr(name, data)
    data = place.read_bytes()
    at = data.index(b'"go"')
    place.write_bytes(data[:at] + b'"no"' + data[at + 4 :])
    assert any(isinstance(o, Skip) for o in read_path(place)) or ids(place)


def test_too_many_files_is_a_mistake_in_the_path(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILES", 2)
    write(tmp_path, {f"{n}.txt": b"x" for n in range(3)})
    with pytest.raises(LogError, match="more than 2 files"):
        files_at(tmp_path)


def test_links_to_folders_and_pipes_are_not_followed(tmp_path):
    write(tmp_path / "logs", own_session())
    (tmp_path / "logs" / "loop").symlink_to(tmp_path / "logs", target_is_directory=True)
    os.mkfifo(tmp_path / "logs" / "pipe.jsonl")
    assert ids(tmp_path / "logs") == [f"claude_code:{SESSION}"]


def test_an_adapter_can_be_named(tmp_path):
    write(tmp_path, own_session() | own_document())
    assert ids(tmp_path) != [o.trace.trace_id for o in read_path(tmp_path, format="native") if isinstance(o, Read)]
    with pytest.raises(ValueError, match="format='nope' is none of claude_code, native"):
        list(read_path(tmp_path, format="nope"))


def test_it_never_guesses_between_two(monkeypatch):
    class Greedy:
        NAME = "greedy"

        @staticmethod
        def detect(files):
            return Match("greedy", tuple(files.names))

    monkeypatch.setitem(opening.ADAPTERS, "greedy", Greedy)
    with pytest.raises(LogError, match=r"could be claude_code or greedy; say which: --format claude_code or"):
        list(read_files(BytesFiles(own_session())))

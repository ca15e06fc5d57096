"""The session that ships with the package is what its generator writes."""

from golden.make_demo_session import FOLDER, files


def test_the_shipped_session_is_what_the_generator_writes() -> None:
    shipped = {p.relative_to(FOLDER).as_posix(): p.read_bytes() for p in FOLDER.rglob("*.json*")}
    assert shipped == files(), "run `python tests/golden/make_demo_session.py` from the repository's root"


def test_it_is_small() -> None:
    assert sum(map(len, files().values())) < 200_000

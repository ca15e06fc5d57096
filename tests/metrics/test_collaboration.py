"""What agents told each other, and what came of it."""

import msgspec
import pytest
from hypothesis import given

from metrics.timed_teams import EMPTY, teams
from orchestrace.metrics import collaboration, taken_up
from orchestrace.trace import Agent, Aggregate, Builder, Message, Return, Source, Spawn, Tokens, Turn, survey

TASK = "read the three files under docs and say in which of them the default time limit of a call is given"


def talk(source=None):
    b = Builder(trace_id="t", task_id="t", source=source)
    b.agent(Agent("main"))
    for child in "abc":
        b.agent(Agent(child, parent="main"))
        b.append(Spawn, "main", to=child, content=b.text(TASK))
        b.append(Turn, child, tokens=Tokens(input=90, output=10))
    return b


def test_a_broadcast_is_no_duplicate_but_saying_it_twice_is():
    b = talk()
    for child in "abc":
        b.append(Message, "main", to=child, content=b.text(TASK), delivered=True)
    b.append(Message, "b", to="a", content=b.text(TASK), delivered=False)
    b.append(Message, "b", to="a", content=b.text(TASK + "."))
    found = collaboration(b.build(), blobs=b.blobs)
    assert (found.messages, found.undelivered, found.delivery_unknown) == (5, 1, 1)
    assert (found.duplicates, found.redundancy, found.near_redundancy) == (1, 1 / 5, 2 / 5)
    assert found.delegations == 3


def test_near_duplicates_need_the_texts():
    b = talk()
    for _ in range(2):
        b.append(Message, "main", to="a", content=b.text(TASK * 9))
    found = collaboration(b.build())
    assert found.redundancy == 0.5
    assert found.near_redundancy is None
    assert found.unknown == {"near_redundancy": "the texts of only 0 of 2 messages are at hand"}
    short = talk()
    for _ in range(2):
        short.append(Message, "main", to="a", content=short.text("go on"))
    assert collaboration(short.build()).near_redundancy == 0.5  # the preview is the whole text


def test_returns_that_no_aggregate_took_up():
    b = talk()
    returned = [
        b.append(Return, child, to="main", status=s)
        for child, s in zip("abc", ("completed", "failed", "completed"), strict=True)
    ]
    turn = b.append(Turn, "main", tokens=Tokens(output=5))
    b.append(Aggregate, "main", inputs=(returned[0].id,), turn=turn.id)
    again = b.append(Return, "a", to="main")
    found = collaboration(b.build())
    assert (found.returns, found.failed_returns, found.unconsumed_returns) == (4, 1, 3)
    assert found.unconsumed_tokens == 200  # b and c; of a one return was read
    assert again.id == "a.2"


@pytest.mark.parametrize(("source", "unread"), [(None, 1), (Source("survey", "1"), 1), (Source("claude_code", "1"), 2)])
def test_a_writer_without_aggregates_says_by_turns_what_was_read(source, unread):
    """Our own recording: a's return came before a turn of main, b's after the last. A log's adapter would have said."""
    b = talk(source)
    b.append(Return, "a", to="main")
    b.append(Turn, "main")
    b.append(Return, "b", to="main")
    found = collaboration(b.build())
    assert (found.returns, found.unconsumed_returns) == (2, unread)
    assert taken_up(b.build()) == ({"a.1"} if unread == 1 else set())


def test_a_survey_file_says_what_the_recording_says():
    """Exported and read again, a team without aggregates has lost nothing."""
    b = talk()
    b.append(Return, "a", to="main")
    b.append(Turn, "main")
    b.append(Return, "b", to="main")
    again = survey.load(survey.dump(b.build()))
    assert collaboration(msgspec.structs.replace(again, source=Source("survey", "1"))).unconsumed_returns == 1


def test_with_one_aggregate_the_others_count_as_left_out():
    b = talk()
    read, _ = b.append(Return, "a", to="main"), b.append(Return, "b", to="main")
    turn = b.append(Turn, "main")
    b.append(Aggregate, "main", inputs=(read.id,), turn=turn.id)
    assert collaboration(b.build()).unconsumed_returns == 1


@given(teams)
def test_what_was_taken_up_was_said_before(trace):
    said = {event.id for event in trace.events if isinstance(event, Return | Message)}
    aggregated = {source for event in trace.events if isinstance(event, Aggregate) for source in event.inputs}
    assert taken_up(trace) <= said
    assert aggregated <= taken_up(trace)


def test_tokens_of_the_unread_may_be_unknown():
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("main"))
    b.agent(Agent("a", parent="main"))
    b.append(Spawn, "main", to="a")
    b.append(Turn, "a")
    b.append(Return, "a", to="main")
    found = collaboration(b.build())
    assert found.unconsumed_tokens is None
    assert found.unknown["unconsumed_tokens"] == "no turn of those agents carries tokens"


def test_nothing_at_all():
    found = collaboration(EMPTY)
    assert (found.messages, found.returns, found.unconsumed_tokens) == (0, 0, 0)
    assert found.unknown == {"redundancy": "no messages were sent", "near_redundancy": "no messages were sent"}


@given(teams)
def test_laws(trace):
    found = collaboration(trace)
    assert {name for name, value in msgspec.structs.asdict(found).items() if value is None} == set(found.unknown)
    assert found.undelivered + found.delivery_unknown <= found.messages
    assert found.unconsumed_returns <= found.returns
    assert found.duplicates <= max(found.messages - 1, 0)

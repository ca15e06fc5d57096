"""The text form: any environment as a language model reads and answers it.

A prompt is the situation in words (`Env.describe`) and the legal options, each as one word. A reply is read strictly
but kindly. It counts as an option if it says one and no other, in the first of these ways that applies:

1. the whole reply is the option, whatever the case, punctuation and markup: `**Stop.**`
2. it marks an answer: `Answer: stop`, `<answer>stop</answer>`; what is marked is then all that counts
3. a line of it is nothing but the option
4. its prose mentions the option, without a negation anywhere: `I would stop here.`

A number that is an option may mean something else in prose ("with a lead of 3, I would stop"): there it names its
option only after the word `option`, and makes the reply unclear elsewhere. Two options, an option that is not legal, a
negation in prose, or nothing: the reply is not read, and that is None, never a guess.

Ours.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from orchestrace.envs.protocol import Bools, Env, Floats, Ints

UNREAD = -1
"""In place of an action: the reply could not be read."""

_Tokens = tuple[str, ...]
_PLAIN = re.compile(r"\w+(?:[ -]\w+){0,2}")
_TOKEN = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)+|(?<![\w.])-\d+|\d+(?:\.\d+)+|[^\W_]+")
_TAGGED = re.compile(r"<(answer|action|choice)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_MARKED = re.compile(r"\b(?:answer|action|choice|decision|reply)\b[*_`]*\s*(?:is\s*)?[:=]+(.*)", re.IGNORECASE)
_NEGATION = re.compile(r"n['’]t\b|\b(?:not|never|no|cannot|without|neither|nor|instead|rather|unless)\b", re.IGNORECASE)


class TextStep(NamedTuple):
    """What one reply brought, for a batch of B episodes."""

    states: Ints
    """[B] states reached; the start of a new episode where `done`."""
    prompts: tuple[str, ...]
    """[B] the next prompts."""
    rewards: Floats
    """[B] rewards of these replies, prices included; minus `unread_price` where a reply was not read."""
    done: Bools
    """[B] True where the episode ended with this reply."""
    actions: Ints
    """[B] the action that each reply was read as; `UNREAD` where it was not."""


class TextPolicy(NamedTuple):
    """What a model does in every state, as a table that can be valued exactly."""

    policy: Floats
    """[S, A] one where the model's reply was read; the fallback's row elsewhere."""
    unread: Ints
    """The states whose reply could not be read, ascending."""


@dataclass(frozen=True, eq=False)
class TextEnv:
    """An environment over texts, for batches. It holds no episode: states go in and come out, as in `Env.step`."""

    env: Env
    unread: Literal["again", "end"] = "again"
    """A reply that is not read. again: the same state is asked once more; end: the episode ends."""
    unread_price: float = 0.0
    """What such a reply costs. With `again` and no price an episode need not end."""

    def reset(self, episodes: int, rng: np.random.Generator) -> tuple[Ints, tuple[str, ...]]:
        """Start states [episodes], and their prompts."""
        states = self.env.reset(episodes, rng)
        return states, self.prompts(states)

    def step(self, states: Ints, replies: Sequence[str], *, rng: np.random.Generator) -> TextStep:
        """One reply in each of B episodes, and what came of it.

        Raises:
          ValueError: there are not as many replies as states.
        """
        if len(states) != len(replies):
            raise ValueError(f"replies has B={len(replies)}, but states has B={len(states)}")
        pairs = zip(np.asarray(states).tolist(), replies, strict=True)
        read = [self.answered(state, reply=reply) for state, reply in pairs]
        actions = np.array([UNREAD if action is None else action for action in read], dtype=np.int64)
        heard = np.flatnonzero(actions != UNREAD)
        reached, rewards = np.array(states, dtype=np.int64), np.full(len(actions), -self.unread_price)
        done = np.full(len(actions), self.unread == "end")
        step = self.env.step(reached[heard], actions[heard], rng)
        reached[heard], rewards[heard], done[heard] = step
        lost = np.flatnonzero(done & (actions == UNREAD))
        reached[lost] = self.env.reset(len(lost), rng)
        return TextStep(reached, self.prompts(reached), rewards, done, actions)

    def prompts(self, states: Ints) -> tuple[str, ...]:
        """[B] the prompt of each state."""
        return tuple(self.prompt(state) for state in np.asarray(states).tolist())

    def prompt(self, state: int) -> str:
        """The situation in words, and the legal options."""
        actions = np.flatnonzero(self._legal[state]).tolist()
        lines = [self.env.describe(state)]
        if self._numbered:
            lines += ["Options:", *(f"{self.words[a]}: {self.env.actions[a]}" for a in actions)]
            lines += ["Reply with the number of one option and nothing else."]
        else:
            lines += [f"Reply with one of these words and nothing else: {', '.join(self.words[a] for a in actions)}."]
        return "\n".join(lines)

    def answered(self, state: int, *, reply: str) -> int | None:
        """The action that a reply names, as the module says; None where it cannot be read or is not legal."""
        said = self._said(reply)
        return said if said is not None and self._legal[state, said] else None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """[A] what to reply for each action: its name as one word, or its number where names are no single words."""
        if self._numbered:
            return tuple(str(number) for number in range(1, len(self.env.actions) + 1))
        return tuple(name.replace(" ", "-") for name in self.env.actions)

    @cached_property
    def _numbered(self) -> bool:
        """Whether names are too long to be words, or two of them would read the same."""
        names = self.env.actions
        return len({_tokens(name) for name in names}) < len(names) or not all(map(_PLAIN.fullmatch, names))

    @cached_property
    def _legal(self) -> Bools:
        return self.env.legal()

    @cached_property
    def _known(self) -> Mapping[_Tokens, int]:
        """What names each action: its name and its word, as tokens. Names that two actions share name neither."""
        named: dict[_Tokens, int] = {}
        shared: set[_Tokens] = set()
        for action, name in enumerate(self.env.actions):
            shared |= {_tokens(name)} & set(named)
            named[_tokens(name)] = action
        kept = {tokens: action for tokens, action in named.items() if tokens and tokens not in shared}
        return kept | {_tokens(word): action for action, word in enumerate(self.words)}

    @cached_property
    def _mentions(self) -> Mapping[str, Sequence[tuple[_Tokens, int | None]]]:
        """What may stand in prose, by its first token, the longest first; a bare number names nothing for sure."""
        found: dict[str, list[tuple[_Tokens, int | None]]] = {}
        for tokens, action in self._known.items():
            number = len(tokens) == 1 and tokens[0].lstrip("-").isdigit()
            found.setdefault(tokens[0], []).append((tokens, None if number else action))
            found.setdefault("option", []).append((("option", *tokens), action))
        return {first: sorted(forms, key=lambda form: -len(form[0])) for first, forms in found.items()}

    def _said(self, reply: str) -> int | None:
        whole = self._exactly(reply)
        if whole is not None:
            return whole
        marked = [found[2] for found in _TAGGED.finditer(reply)] or [found[1] for found in _MARKED.finditer(reply)]
        if any(_tokens(text) for text in marked):
            return _the_only([self._spoken(text) for text in marked])
        return self._spoken(reply)

    def _spoken(self, text: str) -> int | None:
        """By the whole, by its lines, by its prose."""
        whole = self._exactly(text)
        if whole is not None:
            return whole
        alone = [action for action in map(self._exactly, text.splitlines()) if action is not None]
        if alone:
            return _the_only(alone)
        return None if _NEGATION.search(text) else _the_only(self._mentioned(_tokens(text)))

    def _exactly(self, text: str) -> int | None:
        tokens = _tokens(text)
        if tokens[:1] == ("option",) and tokens not in self._known:
            tokens = tokens[1:]
        return self._known.get(tokens)

    def _mentioned(self, tokens: _Tokens) -> list[int | None]:
        found: list[int | None] = []
        at = 0
        while at < len(tokens):
            here = self._mentions.get(tokens[at], ())
            form, action = next(((f, a) for f, a in here if tokens[at : at + len(f)] == f), ((), None))
            found += [action] if form else []
            at += max(len(form), 1)
        return found


def option_words(env: Env) -> tuple[str, ...]:
    """[A] the single word or number that stands for each action in prompts."""
    return TextEnv(env).words


def prompt(env: Env, state: int) -> str:
    """A state as a language model is asked about it: the situation in words, and the legal options."""
    return TextEnv(env).prompt(state)


def answered(env: Env, state: int, *, reply: str) -> int | None:
    """The action that a model's reply names; None where it names none, several, or one that is not legal."""
    return TextEnv(env).answered(state, reply=reply)


def text_policy(env: Env, model: Callable[[str], str], *, fallback: Floats | None = None) -> TextPolicy:
    """A model as a policy table, so that `env.exact_value` judges it without sampling. Each prompt is asked once.

    Args:
      env: the environment; the model is asked about every state of it.
      model: a prompt to a reply.
      fallback: [S, A] what is done where the reply is not read; None: any legal action, each as likely.
    """
    text, legal = TextEnv(env), env.legal()
    policy = legal / legal.sum(axis=1, keepdims=True) if fallback is None else np.array(fallback, dtype=np.float64)
    replies: dict[str, str] = {}
    unread = []
    for state, asked in enumerate(text.prompts(np.arange(len(legal)))):
        if asked not in replies:
            replies[asked] = model(asked)
        action = text.answered(state, reply=replies[asked])
        if action is None:
            unread.append(state)
        else:
            policy[state] = np.eye(1, legal.shape[1], action)[0]
    return TextPolicy(policy, np.array(unread, dtype=np.int64))


def _tokens(text: str) -> _Tokens:
    """Words and numbers, case folded; a decimal or a negative number is one token."""
    return tuple(_TOKEN.findall(text.casefold()))


def _the_only(actions: Sequence[int | None]) -> int | None:
    """The action that all of them are; None where they differ or there is none."""
    return actions[0] if len(set(actions)) == 1 else None

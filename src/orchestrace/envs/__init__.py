"""Environments whose optimal policy is known, so that a learned orchestrator can be measured against it.

`by_name` makes one; `protocol` says what each offers. Reading order: `protocol`, `dynamic_programming`, `table_env`,
`story` (episodes as traces), then one room a sub-decision (`spawn`, `delegate`, `communicate`, `aggregate`, `stop`,
`joint`) with one module an environment. `text_form` is how language models read and answer all of them; `wrappers` are
the forms of other libraries, imported by name.
"""

from orchestrace.envs.catalog import ENVIRONMENTS, NAMES, Entry, by_name
from orchestrace.envs.dynamic_programming import Process, action_values, policy_values
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Constant, Env, Step, optimal_policy
from orchestrace.envs.table_env import Grade
from orchestrace.envs.text_form import TextEnv, TextPolicy, TextStep, answered, option_words, prompt, text_policy

__all__ = [
    "END",
    "ENVIRONMENTS",
    "NAMES",
    "Constant",
    "Entry",
    "Env",
    "Grade",
    "Parameter",
    "Process",
    "Step",
    "TextEnv",
    "TextPolicy",
    "TextStep",
    "action_values",
    "answered",
    "by_name",
    "optimal_policy",
    "option_words",
    "policy_values",
    "prompt",
    "text_policy",
]

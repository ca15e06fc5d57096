"""The forms of other libraries, each imported by name: `gymnasium_form` and `pettingzoo_form` need the extra `gym`.

    from orchestrace.envs.wrappers import gymnasium_form
    env = gymnasium_form.gymnasium_env(by_name("briefing"))

Nothing else imports those libraries. What both share: features are float32 in the bounds of the whole table, the mask
says which actions are legal, and a draw comes from the die of the wrapped environment alone.
"""

"""Recipes: what may be said, and how a mistake is told."""

import pytest

from orchestrace.errors import InputError, RecipeError
from orchestrace.training import canonical, keys, labels, load, parse
from orchestrace.training.recipe import changed, parameters

GOOD = 'env = "batch-voting"\nsettings = [{cr = 0.02, ct = 0.005}, {cr = 0.1, ct = 0.01}]\n[ppo]\nclip = 0.3\n'


def test_a_recipe_and_its_canonical_form():
    recipe = parse(GOOD)
    assert recipe.ppo.clip == 0.3
    assert labels(recipe) == ("cr=0.02,ct=0.005", "cr=0.1,ct=0.01")
    assert parse(canonical(recipe)) == recipe
    assert canonical(parse(canonical(recipe))) == canonical(recipe)
    alone = parse('env = "batch-voting"\nalgorithm = "ppo"\nseed = 0\nupdates = 1\n')
    assert parse(canonical(alone)) == alone


GRID = """env = "batch-voting"
grid.cr = {low = 0.01, high = 0.1, points = 3}
grid.ct = {low = 0.0, high = 0.01, points = 2, scale = "linear"}
"""


def test_a_grid_is_every_combination_and_may_differ_from_what_is_judged():
    recipe = parse(GRID + "[eval.grid]\ncr = {low = 0.02, high = 0.05, points = 2}\n")
    trained_on = [(s["cr"], s["ct"]) for s in parameters(recipe)]
    assert trained_on == [(0.01, 0.0), (0.01, 0.01), (0.0316228, 0.0), (0.0316228, 0.01), (0.1, 0.0), (0.1, 0.01)]
    assert parameters(recipe, judged=True) == ({"cr": 0.02}, {"cr": 0.05})
    assert labels(recipe) == ("cr=0.02", "cr=0.05")
    assert labels(recipe, judged=False)[1] == "cr=0.01,ct=0.01"
    assert parse(canonical(recipe)) == recipe


def test_a_run_can_be_judged_under_other_parameters():
    recipe = changed(parse(GRID), {"cr": 0.3, "max_batch": 7})
    assert parameters(recipe, judged=True) == tuple({"max_batch": 7, "cr": 0.3, "ct": ct} for ct in (0.0, 0.01))
    assert parameters(changed(parse(GOOD), {"cr": 0.1, "ct": 0.1})) == ({"cr": 0.1, "ct": 0.1},)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("envv = 1\n", ["envv", "did you mean 'env'?"]),
        (GOOD.replace("clip", "clipp"), ["line 4", "ppo.clipp", "did you mean 'clip'?"]),
        (GOOD.replace("ct = 0.01", "cct = 0.01"), ["settings"]),
        (GOOD.replace("batch-voting", "batch-votin"), ["did you mean 'batch-voting'?"]),
        (GOOD.replace("0.3", "-1"), ["ppo.clip", "0.0"]),
        (GOOD.replace("0.3", "nan"), ["ppo.clip", "finite"]),
        (GOOD.replace("0.3", '"x"'), ["ppo.clip", "float"]),
        ('env = "batch-voting"\nsettings = []\n', ["settings", "no setting"]),
        ('env = "batch-voting"\nalgorithm = "sarsa"\n', ["algorithm"]),
        ('env = "batch-voting"\nupdates = 0\n', ["updates"]),
        ('env = {name = "batch-voting", q = 0.7}\n', ["env.q"]),
        ("env = {p = 0.7}\n", ["no name"]),
        ("settings = [{cr = 1}]\n", ["env"]),
        ("env = \n", ["not valid TOML"]),
        ('env = "batch-voting"\nsettings = [\n  {cr = 0.1},\n  {crr = 0.2},\n]\n', ["line 4", "crr"]),
        ('env = "batch-voting"\nsettings = [\n  {cr = 0.1},\n  {cr = 7},\n]\n', ["line 4", "settings[1].cr"]),
        ('env = "batch-voting"\nsettings = [{cr = 0.1}, {cr = true}]\n', ["settings[1].cr", "bool"]),
        ('env = "batch-voting"\n[[settings]]\ncr = 0.1\n[[settings]]\ncr = 0.1\n', ["settings", "the same"]),
        ('env = "batch-voting"\nsettings = [{cr = 0.1}, {ct = 0.1}]\n', ["settings", "the same keys"]),
        ('env = "batch-voting"\nalgorithm = "reinforce"\n[reinforce]\ngroup = 7\n', ["line 4", "reinforce.group"]),
        ('env = "batch-voting"\n[policy]\nhidden = 1_000_000_000\n', ["line 3", "policy.hidden", "4096"]),
        ('env = "batch-voting"\n[rollouts]\ngrade = "outcom"\n', ["line 3", "rollouts.grade", "'outcome'?"]),
        ('env = {name = "batch-voting", p = "x"}\n', ["env.p", "not a number"]),
        ('env = {name = "batch-voting", p = [1]}\n', ["env.p", "array"]),
        ('env = "batch-voting"\npolicy = 3\n', ["policy", "table"]),
        ("settings = [{cr = 0.1}]\n" + GRID, ["grid", "settings are given already"]),
        (GRID.replace("low = 0.01", "low = 0.2"), ["grid.cr", "no range"]),
        (GRID.replace("low = 0.01", "low = 0.0"), ["grid.cr", "no range"]),
        (GRID.replace("high = 0.1", "high = 7.0"), ["grid.cr", "7.0"]),
        (GRID.replace("points = 3", "points = 1"), ["grid", "points"]),
        (GRID.replace("points = 3", "points = 900"), ["grid", "1,000 combinations"]),
        (GRID.replace("cr =", "crr ="), ["grid", "crr", "did you mean 'cr'?"]),
        ("a = " + "[" * 5000, ["nested too deeply"]),
    ],
)
def test_mistakes_name_key_place_and_remedy(text, parts):
    with pytest.raises(RecipeError) as told:
        parse(text, path="r.toml")
    assert str(told.value).startswith("r.toml")
    assert "\n" not in str(told.value)
    for part in parts:
        assert part in str(told.value)


def test_overrides_win_and_are_checked():
    assert parse(GOOD, ["ppo.clip=0.1", "seed=7", "algorithm=reinforce"]).ppo.clip == 0.1
    for override in ("ppo.clipp=1", "ppo", "=3", "seed=1.5", "ppo.clip.x=1"):
        with pytest.raises(RecipeError):
            parse(GOOD, [override])


def test_a_mistake_in_an_override_is_not_looked_for_in_the_file():
    with pytest.raises(RecipeError) as told:
        parse(GOOD, ["ppo.clip=-1"], path="r.toml")
    assert str(told.value).startswith("--set ppo.clip: expected float")
    with pytest.raises(RecipeError, match=r"^--set settings\[0\].crr: "):
        parse(GOOD, ["settings=[{crr = 1}]"], path="r.toml")


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError):
            load(path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RecipeError, match="UTF-8"):
        load(tmp_path / "binary.toml")


def test_every_key_is_documented_and_the_budget_holds():
    told = keys()
    assert all(key.meaning for key in told)
    assert len(told) <= 70
    tables = {}
    for key in told:
        table = key.name.rpartition(".")[0]
        tables[table] = tables.get(table, 0) + 1
    assert max(tables.values()) <= 12

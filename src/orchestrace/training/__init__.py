"""Learners: recipes in, a trained policy and its distance from the known optimum out.

This package's surface is what a recipe is, and it loads no tensor library. Training itself is `training.loop.train`.
"""

from orchestrace.training.evaluation import Trained, judged
from orchestrace.training.recipe import Key, Recipe, canonical, keys, labels
from orchestrace.training.recipe_file import load, parse
from orchestrace.training.run_folder import FILES as RUN_FILES
from orchestrace.training.run_folder import begun_with

__all__ = [
    "RUN_FILES",
    "Key",
    "Recipe",
    "Trained",
    "begun_with",
    "canonical",
    "judged",
    "keys",
    "labels",
    "load",
    "parse",
]

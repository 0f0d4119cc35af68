"""Contract: what the documentation shows runs as written, and the type stubs say what is there."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import gymnasium as gym
import pytest

import cpss
from cpss import _native

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = sorted(module.name for module in pkgutil.iter_modules(cpss.__path__, "cpss.") if module.name != "cpss._native")


@pytest.mark.parametrize("name", ["cpss", *MODULES])
def test_the_examples_in_docstrings_are_right(name):
    module = importlib.import_module(name)
    importlib.import_module("cpss.sb3")
    result = doctest.testmod(module, extraglobs={"cpss": cpss, "gym": gym})
    assert result.failed == 0
    if name in ("cpss", "cpss.envs", "cpss.shield", "cpss.vector", "cpss.policy", "cpss.sb3", "cpss.sweep"):
        assert result.attempted > 0, "there is no example"


def test_every_public_name_is_explained():
    for name in cpss.__all__:
        thing = getattr(cpss, name)
        assert name == "__version__" or (thing.__doc__ and len(thing.__doc__) > 40), name


def test_the_readme_runs_as_written(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 5
    run = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "out of date" not in run.stderr, "regression: the first thing that a user saw was advice against the ids shown"
    assert (tmp_path / "out/sweep/records").is_dir()


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """What a user sees of it, who has a minute."""
    folder = tmp_path_factory.mktemp("quickstart")
    return subprocess.run([sys.executable, ROOT / "quickstart.py"], cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_quickstart_runs_as_written_within_a_minute(quickstart):
    assert quickstart.returncode == 0, quickstart.stderr
    shadow, enforce = (int(count) for count in re.findall(r"crashed in (\d+) of 100", quickstart.stdout))
    assert enforce < shadow
    assert "still stood after 500 steps" in quickstart.stdout


def test_regression_the_quickstart_is_quiet(quickstart):
    """Of its ids there are later versions, and Gymnasium's advice to take them was the first thing that a user saw."""
    assert "out of date" not in quickstart.stderr


def parameters(function):
    """The names of a stub's parameters."""
    return [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]


def names_of(thing):
    """The names of a compiled function's parameters, as it says itself."""
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def test_the_stubs_say_what_is_there():
    stub = ast.parse((ROOT / "package" / "cpss" / "_native.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert {*functions, *classes, "__version__"} == set(_native.__all__)
    for name, node in functions.items():
        assert parameters(node) == names_of(getattr(_native, name)), name
    for name, node in classes.items():
        there = getattr(_native, name)
        members = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        public = {member for member in vars(there) if not member.startswith("_")}
        assert {member for member in members if member != "__new__"} == public, name
        for member, part in members.items():
            is_property = any(getattr(mark, "id", "") == "property" for mark in part.decorator_list)
            if member == "__new__":
                assert parameters(part) == names_of(there), name
            elif not is_property:
                assert parameters(part) == names_of(getattr(there, member)), f"{name}.{member}"

"""Contract: the examples and the tutorial run as they stand, in their short form, and show what they say they show."""

import importlib.util
import json
from pathlib import Path

import pytest
from notebook import run as run_notebook

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_poles_stay_up():
    found = example("cart_pole").run(quick=True)
    assert found.alone.incidents == 1.0 and found.cut >= 0.95 and found.promise_kept is not False


def test_learned_risks_are_the_calculated_ones():
    ((error, found),) = example("grid_worlds").run(quick=True)
    assert error <= 0.02
    assert all(each.promise_kept for each in found)


def test_a_drive_trips_half_as_often_at_no_less_return():
    pytest.importorskip("gym_electric_motor")
    found = example("motor").run(quick=True)
    assert found.alone.incidents > 0.2 and found.cut >= 0.5
    assert found.shielded.return_mean >= found.alone.return_mean


def test_the_tutorial_runs_and_its_plots_are_drawn(monkeypatch):
    path = EXAMPLES / "tutorial.ipynb"
    notebook = json.loads(path.read_text())
    written = [[output["output_type"] for output in cell.get("outputs", [])] for cell in notebook["cells"]]
    assert sum(kinds.count("display_data") for kinds in written) == 3, "what is kept in the file was drawn"
    names = run_notebook(notebook, path.name)
    assert [[output["output_type"] for output in cell.get("outputs", [])] for cell in notebook["cells"]] == written
    assert names["risk"].card.calibrated and names["found"].cut >= 0.9

"""Contract: `bench/release` sets the version, the address and the date of a release everywhere at once, changes nothing if all is
set already, and nothing if anything is wrong."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
ADDRESS = "https://example.org/owner/cpss"
#: What a release changes, and what Cargo reads beside it.
FILES = ["Cargo.toml", "Cargo.lock", "CITATION.cff", "CHANGELOG.md", "bench/release", "python/Cargo.toml", "python/pyproject.toml"]


def run(tree, *command):
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=120)


def commit(tree):
    run(tree, "git", "add", "--all")
    run(tree, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "As it is")


def release(tree, *arguments):
    done = run(tree, sys.executable, "bench/release", *arguments)
    return done.returncode, done.stdout, done.stderr


def contents(tree):
    return {path.relative_to(tree): path.read_bytes() for path in tree.rglob("*") if path.is_file() and ".git" not in path.parts}


@pytest.fixture
def tree(tmp_path):
    """A checkout with all manifests and sources, at the version that the project has."""
    tree = tmp_path / "tree"
    for name in FILES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tree / name)
    for folder in [*(TOP / "crates").iterdir(), TOP / "python"]:
        place = tree / folder.relative_to(TOP)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "Cargo.toml", place / "Cargo.toml")
        for part in ("src", "examples", "benches", "build.rs"):
            if (folder / part).is_dir():
                shutil.copytree(folder / part, place / part)
            elif (folder / part).is_file():
                shutil.copy(folder / part, place / part)
    # Also just after a release, when nothing is unreleased.
    log = (tree / "CHANGELOG.md").read_text()
    if "## Unreleased" not in log:
        (tree / "CHANGELOG.md").write_text(log.replace("\n## ", "\n## Unreleased\n\n## ", 1))
    assert run(tree, "git", "init", "--quiet").returncode == 0
    commit(tree)
    return tree


def test_a_release_is_set_everywhere_and_once(tree):
    code, said, problem = release(tree, "7.8.9", ADDRESS, "--date", "2027-01-31")
    assert code == 0, problem
    assert "set Cargo.toml" in said
    metadata = run(tree, "cargo", "metadata", "--offline", "--no-deps", "--format-version", "1")
    assert metadata.returncode == 0, metadata.stderr
    packages = json.loads(metadata.stdout)["packages"]
    published = {package["name"]: package for package in packages if package["publish"] != []}
    assert {"cpss", "cpss-ffi", "cpss-highway", "cpss-learn", "cpss-risk", "cpss-shield"} <= set(published)
    assert {package["version"] for package in packages} == {"7.8.9"}
    assert {package["repository"] for package in published.values()} == {ADDRESS}
    asked = {(need["name"], need["req"]) for package in packages for need in package["dependencies"] if need.get("path")}
    assert asked == {(name, "^7.8.9" if name == "cpss" else "=7.8.9") for name in published if name != "cpss-ffi"}
    # Our own crates in the lock file, and nothing else.
    locked, lock_before = (tomllib.loads((top / "Cargo.lock").read_text())["package"] for top in (tree, TOP))
    ours = {package["name"]: package["version"] for package in locked if "source" not in package}
    assert ours == {package["name"]: "7.8.9" for package in packages}
    assert [package for package in locked if "source" in package] == [package for package in lock_before if "source" in package]

    project = tomllib.loads((tree / "python" / "pyproject.toml").read_text())["project"]
    assert project["urls"] == {"Repository": ADDRESS}
    citation = (tree / "CITATION.cff").read_text()
    for line in ("version: 7.8.9", f'repository-code: "{ADDRESS}"', "date-released: 2027-01-31"):
        assert citation.count(f"\n{line}\n") == 1
    log = (tree / "CHANGELOG.md").read_text()
    assert "\n## 7.8.9 (2027-01-31)\n" in log and "Unreleased" not in log

    before = contents(tree)
    code, said, problem = release(tree, "7.8.9", ADDRESS, "--date", "2027-01-31")
    assert code == 0 and said == "All is set already.\n", problem
    assert contents(tree) == before

    # A candidate of the next one: what is set is replaced, and the history keeps its headings.
    log = log.replace("\n## 7.8.9", "\n## Unreleased\n\n- More.\n\n## 7.8.9")
    (tree / "CHANGELOG.md").write_text(log)
    commit(tree)
    code, said, problem = release(tree, "7.9.0-rc.1", ADDRESS + "2", "--date", "2027-02-28")
    assert code == 0, problem
    assert "\n## 7.9.0-rc.1 (2027-02-28)\n" in (tree / "CHANGELOG.md").read_text()
    changed = contents(tree)
    assert contents(tree).keys() == before.keys()
    assert not [path for path, text in changed.items() if path.suffix == ".toml" and b"7.8.9" in text]
    assert (tree / "CITATION.cff").read_text().count("https://example.org") == 1
    assert tomllib.loads((tree / "python" / "pyproject.toml").read_text())["project"]["urls"] == {"Repository": ADDRESS + "2"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1.2", ADDRESS], "version: '1.2' is not like"),
        (["v1.2.3", ADDRESS], "version: 'v1.2.3' is not like"),
        (["1.02.3", ADDRESS], "version: '1.02.3' is not like"),
        (["1.2.3\n", ADDRESS], "is not like 0.3.0"),
        (["0.0.1", ADDRESS], "version: 0.0.1 is lower than"),
        (["7.8.9", "http://example.org/owner/cpss"], "address: 'http://example.org/owner/cpss' is not like https://host/path"),
        (["7.8.9", "https://example.org"], "address: 'https://example.org' is not like"),
        (["7.8.9", "https://me:secret@example.org/cpss"], "address:"),
        (["7.8.9", 'https://example.org/c"pss'], "address:"),
        (["7.8.9", ADDRESS + ".git"], "without .git"),
        (["7.8.9", ADDRESS, "--date", "2027-02-30"], "date: '2027-02-30' is not a day like"),
        (["7.8.9", ADDRESS, "--date", "20270131"], "date: '20270131' is not a day like"),
    ],
)
def test_a_bad_argument_is_named_and_changes_nothing(tree, arguments, said):
    before = contents(tree)
    code, _, problem = release(tree, *arguments)
    assert code != 0 and said in problem and "Nothing was changed." in problem, problem
    assert contents(tree) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("CHANGELOG.md", "## Unreleased", "## Soon", 'CHANGELOG.md: expected a heading "## Unreleased" or "## 7.8.9" 1 times, found it 0 times'),
        ("CHANGELOG.md", "# Changelog", "## 7.8.9", "found it 2 times"),
        ("CITATION.cff", "\nversion: ", "\nedition: ", "CITATION.cff: expected version"),
        ("Cargo.toml", "[workspace.package]", "[workspace.package] #", "Cargo.toml: expected [workspace.package]"),
        ("Cargo.lock", 'name = "cpss-risk"', 'name = "other"', "Cargo.lock: expected the crate cpss-risk"),
        ("crates/risk/Cargo.toml", "authors.workspace = true", "", "crates/risk/Cargo.toml: expected authors.workspace"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_as_expected_is_named_and_nothing_is_changed(tree, file, old, new, said):
    text = (tree / file).read_text()
    assert old in text
    (tree / file).write_text(text.replace(old, new, 1))
    commit(tree)
    before = contents(tree)
    code, _, problem = release(tree, "7.8.9", ADDRESS)
    assert code != 0 and said in problem, problem
    assert contents(tree) == before


def test_a_tree_with_changes_or_without_git_is_left_alone(tree):
    (tree / "note").write_text("mine")
    before = contents(tree)
    code, _, problem = release(tree, "7.8.9", ADDRESS)
    assert code != 0 and "tree: 1 files are not as they were committed, 'note' among them" in problem
    shutil.rmtree(tree / ".git")
    code, _, problem = release(tree, "7.8.9", ADDRESS)
    assert code != 0 and "is not a checkout of Git" in problem
    assert contents(tree) == before


def test_help_teaches():
    code, said, _ = release(TOP, "--help")
    assert code == 0 and "bench/release 0.3.0 https://" in said and "CHANGELOG.md" in said

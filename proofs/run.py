"""Do the theorems that the shield rests on hold, and would this script notice if they did not?

Each `*.smt2` file beside this one opens with a statement in plain words and asserts its
hypotheses, by name, and the *negation* of its claim. So `unsat` is a proof.

A proof from contradictory hypotheses proves nothing, and one that holds without its hypotheses
has not understood them. So each file lists controls, `; control: drop <name>`, and for each of
them the problem without that assertion must be `sat`: a counterexample exists. Dropping `goal`
asks whether the hypotheses can hold at all.

Run it with a Python that has `requirements.txt` installed, as `./check` does; name files to run
only those.
"""

import re
import sys
import time
from pathlib import Path

import bitwuzla
import z3

SECONDS_PER_PROBLEM = 300


def main(names: list[str]) -> int:
    here = Path(__file__).parent
    paths = [here / name for name in names] or sorted(here.glob("*.smt2"))
    passed = failed = 0
    for path in paths:
        for title, solver, forms, expected in problems(path):
            start = time.perf_counter()
            found = SOLVERS[solver]("\n".join(forms))
            seconds = time.perf_counter() - start
            verdict = "ok  " if found == expected else "FAIL"
            print(f"{verdict} {title}: {found} ({solver}, {seconds:.1f} s)", flush=True)
            passed += found == expected
            failed += found != expected
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


def problems(path: Path):
    """The claim of a file, and each of its controls: title, solver, forms, expected answer."""
    text = path.read_text(encoding="utf-8")
    solver = re.search(r"^; solver: (\w+)$", text, re.MULTILINE).group(1)
    controls = re.findall(r"^; control: drop (\w+)$", text, re.MULTILINE)
    if "goal" not in controls:
        sys.exit(f"{path.name}: no control drops the goal")
    forms = top_level_forms(text)
    yield path.stem, solver, forms, "unsat"
    for name in controls:
        kept = [form for form in forms if f":named {name})" not in form]
        if len(kept) != len(forms) - 1:
            sys.exit(f"{path.name}: control `{name}` names no assertion")
        yield f"{path.stem} without {name}", solver, kept, "sat"


def top_level_forms(text: str) -> list[str]:
    """Splits SMT-LIB text, without its comments, into its outermost parentheses."""
    text = re.sub(r";.*", "", text)
    forms, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            if depth == 0:
                start = position
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                forms.append(text[start : position + 1])
    # The solver is asked through its API, once.
    return [form for form in forms if form != "(check-sat)"]


def ask_z3(problem: str) -> str:
    solver = z3.Solver()
    solver.set("timeout", SECONDS_PER_PROBLEM * 1000)
    solver.from_string(problem)
    return str(solver.check())


def ask_bitwuzla(problem: str) -> str:
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, SECONDS_PER_PROBLEM * 1000)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(problem, True, False)
    return str(parser.bitwuzla().check_sat())


SOLVERS = {"z3": ask_z3, "bitwuzla": ask_bitwuzla}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

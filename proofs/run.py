"""Do the theorems that the shield rests on hold, and would this script notice if they did not?

Each `*.smt2` file beside this one opens with a statement in plain words and asserts its
hypotheses, by name, and the *negation* of its claim. So `unsat` is a proof.

A proof from contradictory hypotheses proves nothing, and one that holds without its hypotheses
has not understood them. So each file lists controls, `; control: drop <name>`, and for each of
them the problem without that assertion must be `sat`: a counterexample exists. Dropping `goal`
asks whether the hypotheses can hold at all.

A file may be many problems: with `; each: d from 0 to 53` it is asked once for every value of `d`,
eleven bits wide as a double's exponent is, and so is each control that does not say `where d = 7`.

Run it with a Python that has `requirements.txt` installed, as `./check` does; name files to run
only those. Solvers run on every core, those of files with `; slow` first; the answers are printed
in the order of the files, with the processor time they took.
"""

import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import bitwuzla
import z3

SECONDS_PER_PROBLEM = 900


class Question(NamedTuple):
    """A claim or a control: the problems it consists of, all of which must get one answer."""

    title: str
    solver: str
    problems: tuple[str, ...]
    expected: str
    slow: bool


def main(names: list[str]) -> int:
    here = Path(__file__).parent
    paths = [here / name for name in names] or sorted(here.glob("*.smt2"))
    asked = [question for path in paths for question in questions(path)]
    passed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        # One slow problem that starts last would leave the other cores idle.
        answers = {
            question: [pool.submit(ask, question.solver, problem) for problem in question.problems]
            for question in sorted(asked, key=lambda question: not question.slow)
        }
        for question in asked:
            found, seconds = zip(*(answer.result() for answer in answers[question]))
            ok = set(found) == {question.expected}
            passed += ok
            told = found[0] if ok or len(found) == 1 else f"not all {question.expected}: {found}"
            many = f"{len(found)} problems, " if len(found) > 1 else ""
            print(
                f"{'ok  ' if ok else 'FAIL'} {question.title}: {told}"
                f" ({question.solver}, {many}{sum(seconds):.1f} s)",
                flush=True,
            )
    print(f"{passed} passed, {len(asked) - passed} failed")
    return 0 if asked and passed == len(asked) else 1


def questions(path: Path):
    """The claim of a file, and each of its controls."""
    text = path.read_text(encoding="utf-8")
    solver = re.search(r"^; solver: (\w+)$", text, re.MULTILINE).group(1)
    slow = re.search(r"^; slow$", text, re.MULTILINE) is not None
    each = re.search(r"^; each: (\w+) from (\d+) to (\d+)$", text, re.MULTILINE)
    symbol = each.group(1) if each else None
    values = range(int(each.group(2)), int(each.group(3)) + 1) if each else (None,)
    controls = re.findall(r"^; control: (.*)$", text, re.MULTILINE)
    if "drop goal" not in controls:
        sys.exit(f"{path.name}: no control drops the goal")
    forms = top_level_forms(text)
    claim = tuple(instance(forms, symbol, value) for value in values)
    yield Question(path.stem, solver, claim, "unsat", slow)
    for control in controls:
        parts = re.fullmatch(r"drop (\w+)(?: where (\w+) = (\d+))?", control)
        if not parts or parts.group(2) not in (None, symbol):
            sys.exit(f"{path.name}: cannot read the control `{control}`")
        kept = [form for form in forms if f":named {parts.group(1)})" not in form]
        if len(kept) != len(forms) - 1:
            sys.exit(f"{path.name}: control `{control}` names no assertion")
        chosen = values if parts.group(3) is None else (int(parts.group(3)),)
        weakened = tuple(instance(kept, symbol, value) for value in chosen)
        title = f"{path.stem} without {control.removeprefix('drop ')}"
        yield Question(title, solver, weakened, "sat", slow=False)


def instance(forms: list[str], symbol: str | None, value: int | None) -> str:
    """The problem for one value of its symbol, which is defined after the logic is set."""
    if symbol is None:
        return "\n".join(forms)
    definition = f"(define-fun {symbol} () (_ BitVec 11) (_ bv{value} 11))"
    return "\n".join([forms[0], definition, *forms[1:]])


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


def ask(solver: str, problem: str) -> tuple[str, float]:
    """The solver's answer, and the processor time it took [s]."""
    start = time.process_time()
    return SOLVERS[solver](problem), time.process_time() - start


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

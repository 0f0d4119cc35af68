"""How is a notebook run without a notebook's server? All of its cells in turn, with what they print and draw.

    python python/tests/notebook.py python/examples/tutorial.ipynb           # runs it, and writes down what came of it
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path


def run(notebook, name="notebook"):
    """Runs the cells of a notebook; each code cell's outputs are those of this run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # What others have drawn in this process is none of the notebook's.
    pyplot.close("all")
    names = {"__name__": "__main__"}
    for number, cell in enumerate(part for part in notebook["cells"] if part["cell_type"] == "code"):
        printed, outputs = io.StringIO(), []
        tree = ast.parse("".join(cell["source"]), f"{name}, cell {number + 1}")
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"{name}, cell {number + 1}", "exec"), names)
            value = None if last is None else eval(compile(last, f"{name}, cell {number + 1}", "eval"), names)
        if printed.getvalue():
            outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
        for figure in map(pyplot.figure, pyplot.get_fignums()):
            picture = io.BytesIO()
            figure.savefig(picture, dpi=70, metadata={"Software": None})
            data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        if value is not None and not pyplot.get_fignums():
            outputs.append({"output_type": "execute_result", "execution_count": number + 1, "data": {"text/plain": [repr(value)]}, "metadata": {}})
        pyplot.close("all")
        cell["outputs"], cell["execution_count"] = outputs, number + 1
    return names


if __name__ == "__main__":
    path = Path(sys.argv[1])
    found = json.loads(path.read_text())
    run(found, path.name)
    path.write_text(json.dumps(found, indent=1) + "\n")

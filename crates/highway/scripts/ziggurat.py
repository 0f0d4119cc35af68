"""Writes src/random/ziggurat.rs: the layers of NumPy's 256-step normal ziggurat.

The layers follow Marsaglia and Tsang's construction: 255 rectangles and a tail of one common area
under exp(-x*x/2), cut at R. NumPy's own table was rounded on the way, and is off from the exact
one in the last bits; drawing the same normals takes the same bits. So the table is computed here,
found again in the installed NumPy as the only run of numbers that agrees to 1e-12, and written
with NumPy's bits.

    python3 ziggurat.py > ../src/random/ziggurat.rs && rustfmt ../src/random/ziggurat.rs
"""

import glob
import math
import os

import numpy as np

R = 3.6541528853610088
MANTISSA = 2.0**52
AREA = R * math.exp(-R * R / 2) + math.sqrt(math.pi / 2) * math.erfc(R / math.sqrt(2))


def layers():
    """The construction, in ordinary double precision."""
    edges = [0.0] * 256
    edges[255] = R
    for i in range(254, 0, -1):
        outer = edges[i + 1]
        edges[i] = math.sqrt(-2 * math.log(AREA / outer + math.exp(-outer * outer / 2)))
    base = AREA / math.exp(-R * R / 2)
    inside = [R / base * MANTISSA] + [edges[i - 1] / edges[i] * MANTISSA for i in range(1, 256)]
    width = [base / MANTISSA] + [edge / MANTISSA for edge in edges[1:]]
    height = [math.exp(-edge * edge / 2) for edge in edges]
    return inside, width, height


def in_numpy(table, kind):
    """The one run of 256 numbers inside NumPy that agrees with `table` to 1e-12."""
    folder = os.path.dirname(np.random.__file__)
    (library,) = glob.glob(os.path.join(folder, "_generator*.so"))
    with open(library, "rb") as file:
        raw = file.read()
    numbers = np.frombuffer(raw[: len(raw) // 8 * 8], dtype=kind)
    wanted = np.array(table)
    (starts,) = np.nonzero(np.isclose(numbers[: len(numbers) - 255].astype(float), wanted[0], rtol=1e-12, atol=0))
    found = [numbers[s : s + 256] for s in starts if np.allclose(numbers[s : s + 256].astype(float), wanted, rtol=1e-12, atol=0)]
    assert len({run.tobytes() for run in found}) == 1, "NumPy's table was not found, or not only once"
    return found[0]


def write(name, doc, kind, values):
    print(f"\n/// {doc}\npub(super) const {name}: [{kind}; 256] = [")
    for value in values:
        print(f"    {value},")
    print("];")


inside, width, height = layers()
print("//! What do the 256 layers of the normal ziggurat measure?")
print("//!")
print("//! Made by `scripts/ziggurat.py`, never by hand (so it may be long); read only by `generator`.")
write("INSIDE", "Below this mantissa a draw lies inside its layer's rectangle.", "u64", [hex(int(v)) for v in in_numpy(inside, "<u8")])
write("WIDTH", "Mantissa to abscissa, for each layer.", "f64", [repr(float(v)) for v in in_numpy(width, "<f8")])
write("HEIGHT", "The density at each layer's outer edge.", "f64", [repr(float(v)) for v in in_numpy(height, "<f8")])

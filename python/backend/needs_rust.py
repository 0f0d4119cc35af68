"""The build backend: maturin's, after one look whether there is a Rust compiler that is new enough.

Without one maturin fails too, but behind a page of traceback. Who installs a package wants one sentence.
"""

import re
import shutil
import subprocess
import sys

import maturin

#: As in the workspace's Cargo.toml.
RUST = (1, 95)

get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
build_sdist = maturin.build_sdist


def need_rust():
    """Ends the process with a sentence where Rust is missing or too old."""
    wanted = ".".join(map(str, RUST))
    ways = f"install Rust {wanted} or later (https://rustup.rs), or a wheel of cpss for this platform"
    if shutil.which("cargo") is None:
        sys.exit(f"cpss: there is no wheel for this platform, and no Rust to build one: {ways}.")
    answer = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"cargo (\d+)\.(\d+)", answer)
    if found and tuple(map(int, found.groups())) < RUST:
        sys.exit(f"cpss: there is no wheel for this platform, and {answer.split(' (')[0]} is too old to build one: {ways}.")


def get_requires_for_build_wheel(config_settings=None):
    need_rust()
    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    need_rust()
    return maturin.get_requires_for_build_editable(config_settings)


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    need_rust()
    return maturin.prepare_metadata_for_build_wheel(folder, config_settings)


def build_wheel(folder, config_settings=None, metadata=None):
    need_rust()
    return maturin.build_wheel(folder, config_settings, metadata)


def build_editable(folder, config_settings=None, metadata=None):
    need_rust()
    return maturin.build_editable(folder, config_settings, metadata)

#!/usr/bin/env python3
"""Writes what real bash and Debian's utilities answer to the scripts beside it: expected/CATEGORY.json.

Each case of a CATEGORY.cases (`## name`, then the script) runs in a fresh copy of files/ with standard error merged into
standard output. Run it on Debian as a user who may use apt-get download: gawk is fetched into a scratch folder, since the
system's awk may be another. `generate.py CATEGORY…` writes only those.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Where the cell's files are, and in which place the output is read as if it came from there.
ROOT = "/work"
PACKAGES = ["gawk", "libsigsegv2", "libmpfr6", "libreadline8", "jq", "libjq1", "libonig5"]


def fetch_programs(folder):
    """Unpacks the programs that a Debian system may lack, and returns the environment that finds them."""
    subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    for package in pathlib.Path(folder).glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    programs = pathlib.Path(folder, "usr/bin")
    (programs / "awk").symlink_to("gawk")
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "LD_LIBRARY_PATH": str(next(pathlib.Path(folder, "usr/lib").glob("*-linux-gnu"))),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def cases(path):
    name, lines = None, []
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            if name:
                yield name, "\n".join(lines)
            name, lines = line[3:], []
        else:
            lines.append(line)
    yield name, "\n".join(lines)


def run(script, environment):
    with tempfile.TemporaryDirectory() as folder:
        work = f"{folder}/w"
        shutil.copytree(HERE / "files", work)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=work,
            env=environment | {"HOME": work, "PWD": work},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=30,
        )
    output = done.stdout.decode("utf-8", "replace")
    return {"exit": done.returncode, "output": output.replace(work, ROOT)}


def main():
    chosen = sys.argv[1:]
    (HERE / "expected").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as programs:
        environment = fetch_programs(programs)
        for path in sorted(HERE.glob("*.cases")):
            if chosen and path.stem not in chosen:
                continue
            answers = {name: run(script, environment) for name, script in cases(path)}
            text = json.dumps(answers, indent=1, ensure_ascii=False)
            (HERE / "expected" / f"{path.stem}.json").write_text(text + "\n")


if __name__ == "__main__":
    os.umask(0o022)
    main()

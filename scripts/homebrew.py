"""Write the formula for Homebrew of a release: `.venv/bin/python scripts/homebrew.py [FILE]`.

The source distribution in dist/ is what it installs, from the page of the release in the repository that
GITHUB_REPOSITORY names ("owner/name"). What that needs are resources, in the versions of requirements.lock; where they
lie is asked of the package index that uv is set up for.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.markers import Marker

from environment import ROOT, project, ready

PYTHON = "3.13"
PROJECT = project()
SYSTEMS = {"macos": {"sys_platform": "darwin"}, "linux": {"sys_platform": "linux"}}
FORMULA = """\
class Callsheet < Formula
  include Language::Python::Virtualenv

  desc "{description}"
  homepage "{homepage}"
  url "{url}"
  sha256 "{sha256}"
  license "{license}"

  depends_on "autoconf" => :build
  depends_on "automake" => :build
  depends_on "libtool" => :build
  depends_on "pkgconf" => :build
  depends_on "rust" => :build
  depends_on "libyaml"
  depends_on "openssl@3"
  depends_on "python@{python}"

{resources}

  def install
    virtualenv_install_with_resources
    %w[suite lms callsheet].each do |program|
      generate_completions_from_executable(bin/program, "completion", shells: [:bash, :zsh, :fish])
    end
    man1.install Dir["build/share/man/man1/*.1"]
  end

  service do
    run [opt_bin/"lms", "webhook", "listen", "--secret-file", etc/"callsheet/secret.txt"]
    keep_alive crashed: true
    log_path var/"log/callsheet.log"
    error_log_path var/"log/callsheet.log"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/suite version")
    assert_match "getIssue", shell_output("#{{bin}}/suite op search 'get issue' -o id")
    assert_match version.to_s, shell_output("#{{bin}}/lms version")
  end
end
"""


def locked(python: Path) -> list[dict[str, Any]]:
    """What the programs need without extras: name, version, marker and where the source distribution lies."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "pylock.toml"
        words = ["pip", "compile", "pyproject.toml", "--constraint", "requirements.lock", "--universal", "--quiet"]
        chosen = ["--python-version", PYTHON, "--format", "pylock.toml", "--output-file", str(target)]
        done = subprocess.run([python, "-m", "uv", *words, *chosen], cwd=ROOT, check=False)
        if done.returncode != 0:
            raise SystemExit("the index did not say where the packages lie")
        packages: list[dict[str, Any]] = tomllib.loads(target.read_text(encoding="utf-8"))["packages"]
    return packages


def systems_of(package: Mapping[str, Any]) -> list[str]:
    marker = package.get("marker")
    base = {"implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix"}
    versions = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0"}
    return [
        name
        for name, facts in SYSTEMS.items()
        if marker is None or Marker(marker).evaluate({**base, **versions, **facts, "platform_system": name.title()})
    ]


def resource(package: Mapping[str, Any], indent: str) -> str:
    if "sdist" not in package:
        raise SystemExit(f"{package['name']} {package['version']} has no source distribution")
    sdist = package["sdist"]
    lines = [f'url "{sdist["url"]}"', f'sha256 "{sdist["hashes"]["sha256"]}"']
    return "\n".join(
        [f'{indent}resource "{package["name"]}" do', *(f"{indent}  {line}" for line in lines), f"{indent}end"]
    )


def resources(packages: list[dict[str, Any]]) -> str:
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for package in packages:
        found.setdefault(tuple(systems_of(package)), []).append(package)
    blocks = [resource(each, "  ") for each in found.get(tuple(SYSTEMS), [])]
    for name in SYSTEMS:
        if own := found.get((name,)):
            inner = "\n\n".join(resource(each, "    ") for each in own)
            blocks.append(f"  on_{name} do\n{inner}\n  end")
    return "\n\n".join(blocks)


def formula(packages: list[dict[str, Any]], sdist: Path, repository: str) -> str:
    homepage = f"https://github.com/{repository}"
    return FORMULA.format(
        description=re.sub(r"\s+", " ", PROJECT["description"])[:80].rpartition(":")[0] or PROJECT["description"],
        homepage=homepage,
        url=f"{homepage}/releases/download/v{PROJECT['version']}/{sdist.name}",
        sha256=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        license=PROJECT["license"],
        python=PYTHON,
        resources=resources(packages),
    )


def main(arguments: list[str]) -> None:
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    if arguments[:1] in (["-h"], ["--help"]) or not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise SystemExit(__doc__)
    sdist = ROOT / "dist" / f"{PROJECT['name']}-{PROJECT['version']}.tar.gz"
    if not sdist.is_file():
        raise SystemExit(f"{sdist} is not there; make it with: python -m build")
    target = Path(arguments[0]) if arguments else ROOT / "dist" / "callsheet.rb"
    target.write_text(formula(locked(ready("dev")), sdist, repository), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])

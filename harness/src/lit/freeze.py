# Asks an installed lit what the configuration of some suites comes to, and writes it down as JSON.
# argv[1]: the file to write; argv[2]: the program's name in messages; the rest: lit's own arguments, those that a configuration
# can see.
# Everything that lit prints on the way is for the user. Status 77: this Python has no lit.
import json
import os
import re
import shlex
import sys

try:
    import lit
    import lit.main
    import lit.discovery
    import lit.util
    import lit.TestingConfig
except ImportError:
    sys.exit(77)

out = sys.argv[1]
sys.argv = sys.argv[2:]
seen = {}

# Time limits are ours to enforce: what lit needs for them does not matter.
lit.util.killProcessAndChildrenIsSupported = lambda: (True, "")

find = lit.discovery.find_tests_for_inputs
inside = lit.discovery.getTestsInSuite
local = lit.discovery.getLocalConfig
load = lit.TestingConfig.TestingConfig.load_from_path
folders = {}
whole = set()


def local_config(suite, path, *arguments):
    config = local(suite, path, *arguments)
    folders[(id(suite), tuple(path))] = (suite, config)
    return config


def tests_in_suite(suite, path, *arguments):
    if not path:
        whole.add(id(suite))
    return inside(suite, path, *arguments)


def load_from_path(self, path, *arguments):
    if not hasattr(self, "_runproof_file"):
        self._runproof_file = path
    return load(self, path, *arguments)


def find_tests(lit_config, *arguments):
    seen["lit_config"] = lit_config
    return find(lit_config, *arguments)


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def substitution(pair):
    pattern, value = pair
    if not isinstance(pattern, str):
        # Flags that were given beside a pattern stand in front of it.
        given = [letter for letter in "imsx" if pattern.flags & getattr(re, letter.upper())]
        pattern = "".join(["(?", *given, ")"] if given else []) + text(pattern.pattern)
    if type(value).__name__ == "SubstituteCaptures":
        return {"pattern": pattern, "groups": str(value)}
    return [pattern, str(value)]


def test_format(value):
    if value is None:
        return {"kind": "none"}
    # A class of the suite's own that only finds tests in its own way runs them as the class that it comes from.
    execute = getattr(type(value), "execute", None)
    run = (getattr(execute, "__module__", ""), getattr(execute, "__qualname__", ""))
    if run == ("lit.formats.shtest", "ShTest.execute"):
        return {
            "kind": "shell",
            "external": bool(value.execute_external),
            "substitutions": [substitution(s) for s in getattr(value, "extra_substitutions", [])],
            "preamble": [text(s) for s in getattr(value, "preamble_commands", [])],
        }
    if run == ("lit.formats.base", "ExecutableTest.execute"):
        return {"kind": "executable"}
    if run == ("lit.formats.googletest", "GoogleTest.execute"):
        listed = lambda v: [v] if isinstance(v, str) else sorted(v or [])
        under = getattr(value, "run_under", None) or []
        return {
            "kind": "googletest",
            "sub_dirs": listed(value.test_sub_dirs),
            "prefixes": listed(getattr(value, "test_prefixes", None)),
            "suffixes": listed(value.test_suffixes),
            "run_under": [text(s) for s in (under if isinstance(under, list) else shlex.split(under))],
            "python": sys.executable,
        }
    return {"kind": "python", "class": type(value).__name__}


def marks(test):
    config_retries = getattr(test.config, "test_retry_attempts", 0)
    found = {name: [text(x) for x in getattr(test, name, [])] for name in ("xfails", "requires", "unsupported")}
    found.update((name, bool(getattr(test, name, False))) for name in ("xfail_not", "unsupported_not"))
    found = {name: value for name, value in found.items() if value}
    retries = getattr(test, "allowed_retries", config_retries)
    return found if retries == config_retries else {**found, "retries": retries}


def write(tests, *arguments):
    suites, configs, known = [], [], {}

    def number(suite):
        key = ("suite", id(suite))
        if key not in known:
            known[key] = len(suites)
            suites.append({
                "name": text(suite.name), "source_root": text(suite.source_root), "exec_root": text(suite.exec_root),
                "file": text(getattr(suite.config, "_runproof_file", "")), "whole": id(suite) in whole,
            })
        return known[key]

    listed = [[number(t.suite), "/".join(t.path_in_suite), config(t.config, configs, known)] for t in tests]
    visited = [
        [number(suite), "/".join(path), config(value, configs, known)]
        for (_, path), (suite, value) in folders.items()
    ]
    lit_config = seen["lit_config"]
    data = {
        "version": lit.__version__,
        "suites": suites,
        "configs": configs,
        "tests": listed,
        "marks": {index: found for index, found in enumerate(map(marks, tests)) if found},
        "folders": visited,
        "groups": {text(k): v for k, v in getattr(lit_config, "parallelism_groups", {}).items() if v is not None},
        "coverage": bool(getattr(lit_config, "per_test_coverage", False)),
        "warnings": lit_config.numWarnings,
        "errors": lit_config.numErrors,
    }
    try:
        written = json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as e:
        odd = e.object[e.object.rfind('"', 0, e.start) + 1:e.object.find('"', e.end)]
        sys.stderr.write(
            "%s: fatal: %r is not UTF-8: rename that file, or take the value out of the configuration\n"
            % (sys.argv[0], os.fsencode(odd))
        )
        sys.exit(2)
    with open(out, "wb") as file:
        file.write(written)


def config(value, configs, known):
    if id(value) not in known:
        known[id(value)] = len(configs)
        configs.append({
            "suffixes": sorted(text(s) for s in value.suffixes),
            "excludes": sorted(text(s) for s in value.excludes),
            "unsupported": bool(value.unsupported),
            "features": sorted(text(s) for s in value.available_features),
            "limit_to_features": sorted(text(s) for s in value.limit_to_features),
            "pipefail": bool(value.pipefail),
            "format": test_format(value.test_format),
            "recursion": value.recursiveExpansionLimit,
            "standalone": bool(getattr(value, "standalone_tests", False)),
            "timeout": int(getattr(value, "maxIndividualTestTime", 0) or 0),
            "retries": getattr(value, "test_retry_attempts", None),
            "parallelism_group": None if value.parallelism_group is None or callable(value.parallelism_group)
            else text(value.parallelism_group),
            "environment": {text(k): text(v) for k, v in value.environment.items()},
            "substitutions": [substitution(s) for s in value.substitutions],
        })
    return known[id(value)]


lit.discovery.find_tests_for_inputs = find_tests
lit.discovery.getTestsInSuite = tests_in_suite
lit.discovery.getLocalConfig = local_config
lit.TestingConfig.TestingConfig.load_from_path = load_from_path
lit.main.print_discovered = write
lit.main.main()

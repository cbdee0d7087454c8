//! `runproof lit` as a user calls it: small suites in folders of their own, and lit's words about them.
//!
//! Most of the suites are configured by a `runproof.toml`. Those whose configuration is Python need an installed lit; where there is
//! none the test says so and proves nothing.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::{Bed, Outcome};
use std::process::Command;

const CONFIG: &str = "[suite]\nname = \"s\"\ndialect = \"lit\"\n[lit.config]\nsuffixes = [\".t\"]\n";

/// Lines go to a real shell.
const EXTERNAL: &str = "format = { kind = \"shell\", external = true }\n";

fn suite(files: &[(&str, &str)]) -> Bed {
    let bed = Bed::empty();
    bed.write("runproof.toml", CONFIG.as_bytes());
    for (name, text) in files {
        bed.write(name, text.as_bytes());
    }
    bed
}

/// A run in the order of names, one test at a time.
fn lit(bed: &Bed, arguments: &[&str]) -> Outcome {
    bed.run(&[&["lit", "-j1", "--order=lexical"], arguments, &["."]].concat())
}

/// The lines between the one that begins so and the one that is this.
fn between<'t>(text: &'t str, first: &str, last: &str) -> Vec<&'t str> {
    text.lines().skip_while(|l| !l.starts_with(first)).take_while(|l| *l != last).collect()
}

/// Whether a Python with lit answers; loudly when not.
fn has_python_lit() -> bool {
    let python = std::env::var_os("RUNPROOF_PYTHON").unwrap_or_else(|| "python3".into());
    let found =
        Command::new(python).args(["-c", "import lit.main"]).output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!(
            "\n*** SKIPPED, NOTHING PROVED: no Python with lit is here (`pip install lit`, or RUNPROOF_PYTHON) ***\n"
        );
    }
    found
}

#[test]
fn results_and_summary_are_lits() {
    let bed = suite(&[
        ("fail.t", "RUN: false\n"),
        ("pass.t", "RUN: true\n"),
        ("unsupported.t", "RUN: true\nREQUIRES: nowhere\n"),
        ("xfail.t", "RUN: false\nXFAIL: *\n"),
        ("xpass.t", "RUN: true\nXFAIL: *\n"),
    ]);
    let ran = lit(&bed, &[]);
    ran.check(1, &[]);
    let lines: Vec<&str> = ran.stdout.lines().filter(|l| !l.starts_with("Testing Time")).collect();
    let expect = "-- Testing: 5 tests, 1 workers --\nFAIL: s :: fail.t (1 of 5)\nPASS: s :: pass.t (2 of 5)\n\
        UNSUPPORTED: s :: unsupported.t (3 of 5)\nXFAIL: s :: xfail.t (4 of 5)\nXPASS: s :: xpass.t (5 of 5)\n\
        ********************\nFailed Tests (1):\n  s :: fail.t\n\n********************\nUnexpectedly Passed Tests (1):\n  s :: xpass.t\n\n\n\n\
        Total Discovered Tests: 5\n  Unsupported        : 1 (20.00%)\n  Passed             : 1 (20.00%)\n\
        \x20 Expectedly Failed  : 1 (20.00%)\n  Failed             : 1 (20.00%)\n  Unexpectedly Passed: 1 (20.00%)";
    assert_eq!(lines.join("\n"), expect);
}

#[test]
fn the_last_word_on_what_is_shown_counts() {
    let bed = suite(&[("fail.t", "RUN: echo said\nRUN: false\n"), ("pass.t", "RUN: echo told\n")]);
    for (arguments, shows, hides) in [
        (&["-v"][..], &["# | said", "PASS: s :: pass.t"][..], &["# | told"][..]),
        (&["-a"], &["# | said", "# | told"], &[]),
        (&["-a", "-q"], &["FAIL: s :: fail.t"], &["# | said", "PASS:", "Testing Time"]),
        (&["-q", "-a"], &["# | said", "# | told"], &["Testing Time"]),
        (&["-sqav"], &["-- Testing: 2", "Testing:", "# | said", "PASS:"], &["told", "Testing Time"]),
        (&["--test-output=all", "--print-result-after=failed"], &["# | said"], &["told", "PASS:"]),
    ] {
        let ran = lit(&bed, arguments);
        ran.check(1, shows);
        for words in hides {
            assert!(!ran.stdout.contains(words), "{arguments:?} shows {words:?}:\n{}", ran.stdout);
        }
    }
    bed.command(&["lit", "."])
        .env("LIT_OPTS", "-v --order=lexical")
        .output()
        .map(|o| bed.outcome(&o))
        .unwrap()
        .check(1, &["# | said"]);
}

#[test]
fn wrong_arguments_are_refused_in_lits_words() {
    let bed = suite(&[("pass.t", "RUN: true\n")]);
    for (argument, words) in [
        ("--max-failures=0", "lit: error: argument --max-failures: requires positive integer, but found '0'"),
        ("--order=sorted", "lit: error: argument --order: invalid choice: 'sorted'"),
        ("--vg", "lit: error: unrecognized arguments: --vg"),
        ("--filter=(", "lit: error: argument --filter: invalid regular expression: '('"),
    ] {
        lit(&bed, &[argument]).check(2, &[words]);
    }
    bed.run(&["lit", "--version"]).check(0, &["lit 23."]);
    bed.run(&["lit", "--help"]).check(0, &["usage: lit [-h]"]);
    bed.run(&["lit", "nowhere"]).check(2, &["error: did not discover any tests for provided path(s)"]);
}

#[test]
fn numbers_of_the_environment_count_where_none_are_given() {
    let with = |bed: &Bed, variable: &str, arguments: &[&str]| {
        let mut command = bed.command(&[&["lit"], arguments, &["."]].concat());
        bed.outcome(&command.env(variable, "x").output().unwrap())
    };
    let check = |bed: &Bed| {
        with(bed, "LIT_MAX_WORKERS", &["-j1"]).check(0, &["1 workers", "PASS: s :: a.t"]);
        with(bed, "LIT_MAX_WORKERS", &[])
            .check(2, &["argument -j/--threads/--workers: requires positive integer, but found 'x'"]);
        with(bed, "LIT_NUM_SHARDS", &["--num-shards=1", "--run-shard=1"]).check(0, &["PASS: s :: a.t"]);
    };
    check(&suite(&[("a.t", "RUN: true\n")]));
    if has_python_lit() {
        check(&python_suite(&[("a.t", "RUN: true\n")]));
    }
}

/// A suite whose configuration is Python.
fn python_suite(files: &[(&str, &str)]) -> Bed {
    let bed = Bed::empty();
    let config = "import lit.formats\nconfig.name = 's'\nconfig.suffixes = ['.t']\nconfig.test_format = lit.formats.ShTest()\n";
    bed.write("lit.cfg", config.as_bytes());
    files.iter().for_each(|(name, text)| bed.write(name, text.as_bytes()));
    bed
}

#[test]
fn a_path_that_looks_like_an_option_is_none() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    bed.run(&["lit", "a.t", "-1", "--", "-v"])
        .check(0, &["input '-v' contained no tests", "input '-1' contained no tests", "2 warning(s)"]);
    if has_python_lit() {
        let bed = python_suite(&[("a.t", "RUN: true\n")]);
        bed.run(&["lit", "a.t", "--", "-v"]).check(0, &["-v' contained no tests", "1 warning(s) in tests"]);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_no_usage_error() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    for option in ["-o", "--xunit-xml-output"] {
        lit(&bed, &["--show-fixed", option, "none/out"])
            .check(1, &["PASS: s :: a.t", "`none/out` cannot be written"]);
    }
}

#[test]
fn a_test_is_named_by_its_path() {
    let bed = suite(&[("d/one.t", "RUN: true\n"), ("d/two.t", "RUN: false\n")]);
    bed.run(&["lit", "d/one.t"]).check(0, &["PASS: s :: d/one.t (1 of 1)"]);
}

#[test]
fn files_are_put_into_commands_when_they_are_run() {
    let bed = suite(&[
        ("a.t", "RUN: echo -n \"hello\" > %t\nRUN: echo %{readfile:%t}\n"),
        ("b.t", "RUN: echo %{readfile:/not/there}\n"),
    ]);
    let ran = lit(&bed, &["-a"]);
    ran.check(1, &["\necho hello\n", "# | hello\n", "# error: command failed with exit status: 127"]);
    ran.check(1, &["# executed command: @echo 'echo %{readfile:/not/there}'"]);
    ran.check(1, &["# | File specified in readfile substitution does not exist: /not/there"]);
}

#[test]
fn a_line_that_cannot_be_read_leaves_the_test_unresolved() {
    let bed = suite(&[("a.t", "RUN: true\nRUN: echo \"never closed\n")]);
    let ran = lit(&bed, &["-v"]);
    ran.check(1, &["UNRESOLVED: s :: a.t", "# shell parser error on RUN: at line 2: echo \"never closed"]);
}

#[test]
fn each_not_of_a_chain_counts_for_itself() {
    let bed = suite(&[
        ("crash.t", "RUN: not --crash sh -c \"kill -SEGV $$\"\n"),
        ("no-crash.t", "RUN: not --crash false\n"),
        ("not-no-crash.t", "RUN: not not --crash false\n"),
        ("outer.t", "RUN: not not --crash not true\n"),
        ("plain.t", "RUN: not sh -c \"kill -SEGV $$\"\n"),
    ]);
    lit(&bed, &[]).check(
        1,
        &[
            "PASS: s :: crash.t",
            "FAIL: s :: no-crash.t",
            "PASS: s :: not-no-crash.t",
            "PASS: s :: outer.t",
            "FAIL: s :: plain.t",
        ],
    );
}

#[test]
fn every_command_line_has_a_profile_of_its_own_on_request() {
    let bed = suite(&[("d/a.t", "RUN: env | grep LLVM_PROFILE_FILE\nRUN: true\n")]);
    let ran = lit(&bed, &["-a", "--per-test-coverage"]);
    ran.check(
        0,
        &["# executed command: export LLVM_PROFILE_FILE=d_a.t-%p-%m0.profraw", "=d_a.t-%p-%m1.profraw"],
    );
}

#[test]
fn times_and_failures_are_remembered_in_the_order_of_the_file() {
    let bed = suite(&[("a.t", "RUN: true\n"), ("b.t", "RUN: false\n"), ("c.t", "RUN: true\n")]);
    bed.write(".lit_test_times.txt", b"3.0e+00 c.t\n1.0e+00 gone.t\n");
    let ran = bed.run(&["lit", "-j1", "."]);
    let results = between(&ran.stdout, "PASS: s :: c.t", "********************");
    assert_eq!(results.len(), 3, "the slowest comes first: {}", ran.stdout);
    let times = std::fs::read_to_string(bed.root.join(".lit_test_times.txt")).unwrap();
    let names: Vec<&str> = times.lines().map(|l| l.split_once(' ').unwrap().1).collect();
    assert_eq!(names, ["c.t", "gone.t", "a.t", "b.t"]);
    assert!(times.lines().last().unwrap().starts_with('-'), "a failure has a negative time: {times}");
    bed.run(&["lit", "-j1", "--filter-failed", "."])
        .check(1, &["-- Testing: 1 of 3 tests", "FAIL: s :: b.t"]);
}

#[test]
fn features_are_listed_also_of_files_without_commands() {
    let bed =
        suite(&[("a.t", "REQUIRES: x && y{{[0-9]}}\nXFAIL: z, *\n"), ("b.t", "RUN: true\nUNSUPPORTED: w\n")]);
    let listed = lit(&bed, &["--show-used-features"]);
    assert_eq!((listed.status, listed.stdout.as_str()), (Some(0), "w x y{{[0-9]}} z\n"));
}

/// A program that behaves as one of googletest's: four cases, one of them fails.
const GTEST: &str = r#"#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then printf 'S.\n  good\n  bad\n  left\n'; exit 0; fi
printf '[ RUN      ] S.bad\nnoise\n[  FAILED  ] S.bad (1 ms)\n'
cat > "${GTEST_OUTPUT#json:}" <<END
{"random_seed": 5, "testsuites": [{"name": "S", "testsuite": [
 {"name": "good", "result": "COMPLETED", "time": "0.01s"},
 {"name": "bad", "result": "COMPLETED", "time": "0s", "failures": [{"failure": "it is bad", "type": ""}]},
 {"name": "left", "result": "SKIPPED", "time": "0s"}]}]}
END
exit 1
"#;

#[test]
fn cases_of_googletests_programs_stand_for_themselves() {
    if !has_python_lit() {
        return;
    }
    let bed = Bed::empty();
    bed.write("lit.cfg", b"import lit.formats\nconfig.name = 'g'\nconfig.test_format = lit.formats.GoogleTest('bin', 'Tests')\n");
    executable(&bed, "bin/OwnTests", GTEST);
    let ran = lit(&bed, &["-v", "--no-gtest-sharding", "--output=out.json"]);
    ran.check(1, &["FAIL: g :: bin/OwnTests (1 of 1)", "--gtest_filter=S.bad\n--\nnoise\n\nit is bad\n"]);
    ran.check(1, &["Failed Tests (1):\n  g :: S/bad\n", "Skipped: 1", "Passed : 1", "Failed : 1"]);
    let report = std::fs::read_to_string(bed.root.join("out.json")).unwrap();
    assert!(report.contains("g :: S/good") && !report.contains("OwnTests\""), "{report}");
}

#[test]
fn configuration_in_python_is_asked_of_lit() {
    if !has_python_lit() {
        return;
    }
    let bed = Bed::empty();
    let config = "class Own(lit.formats.ShTest):\n    pass\n\
        config.name = 'p'\nconfig.suffixes = ['.t']\nconfig.test_format = Own()\n\
        config.substitutions.append(('%said', lit_config.params.get('said', 'nothing')))\n\
        lit_config.note('read')\n";
    let config = format!("import lit.formats\n{config}");
    bed.write("lit.cfg", config.as_bytes());
    bed.write("a.t", b"RUN: echo %said\n");
    bed.write("python/b.t", b"RUN: true\n");
    let other = "import lit.formats\nclass Other(lit.formats.FileBasedTest):\n    def execute(self, test, lit_config):\n\
        \x20       return lit.Test.PASS, ''\nconfig.test_format = Other()\n";
    bed.write("python/lit.local.cfg", other.as_bytes());
    let ran = lit(&bed, &["-a", "-Dsaid=word"]);
    ran.check(1, &["PASS: p :: a.t", "# | word", "note: read", "UNRESOLVED: p :: python/b.t"]);
    ran.check(1, &["Tests of the format `Other` are run by Python code of their suite"]);
}

#[test]
fn flags_of_a_substitutions_name_count() {
    if !has_python_lit() {
        return;
    }
    let bed = Bed::empty();
    bed.write(
        "lit.cfg",
        b"import lit.formats, re\nconfig.name = 'p'\nconfig.suffixes = ['.t']\n\
          config.test_format = lit.formats.ShTest()\n\
          config.substitutions.append((re.compile('FOOBAR', re.I), 'true'))\n\
          config.substitutions.append(('(?i)BAZQUX', 'true'))\n",
    );
    bed.write("a.t", b"RUN: foobar\nRUN: BazQux\n");
    lit(&bed, &["-v"]).check(0, &["PASS: p :: a.t"]);
    bed.run(&["migrate", "."]).check(0, &["1 of 1 tests agree"]);
}

#[cfg(target_os = "linux")]
fn odd(bed: &Bed, folder: &str) {
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::OsStr::from_bytes(b"b\xff");
    let place = bed.root.join(folder);
    std::fs::create_dir_all(place.join(name)).unwrap();
    std::fs::write(place.join(name).join("in.t"), "RUN: false\n").unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_test_whose_name_is_not_utf_8_is_refused_and_not_left_out() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    odd(&bed, "d");
    for command in ["lit", "test"] {
        bed.run(&[command, "."])
            .check(2, &["the name of `d/b\u{fffd}/in.t` is not UTF-8", "rename the file"]);
    }
    std::fs::remove_file(bed.root.join("d").read_dir().unwrap().next().unwrap().unwrap().path().join("in.t"))
        .unwrap();
    bed.run(&["lit", "."]).check(0, &["PASS: s :: a.t"]);
    if !has_python_lit() {
        return;
    }
    let bed = Bed::empty();
    bed.write(
        "lit.cfg",
        b"import lit.formats\nconfig.name = 'p'\nconfig.suffixes = ['.t']\nconfig.test_format = lit.formats.ShTest()\n",
    );
    odd(&bed, "d");
    bed.run(&["lit", "."]).check(2, &["lit: fatal: b'd/b\\xff/in.t' is not UTF-8: rename that file"]);
    bed.run(&["migrate", "."]).check(2, &["b'd/b\\xff/in.t' is not UTF-8", "lit gave up with status 2"]);
}

/// A file that may be executed.
fn executable(bed: &Bed, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    bed.write(name, text.as_bytes());
    std::fs::set_permissions(bed.root.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_is_a_test_has_lits_own_environment() {
    let bed = Bed::empty();
    let config =
        CONFIG.replace(".t", ".sh") + "format = { kind = \"executable\" }\nenvironment = { OWN = \"1\" }\n";
    bed.write("runproof.toml", config.as_bytes());
    executable(
        &bed,
        "a.sh",
        "#!/bin/sh\ntest \"$OUTER\" = 1 -a -z \"$OWN\" -a -d \"$TMPDIR\" &&\n\
         case $TMPDIR in */lit-tmp-*) ;; *) exit 1;; esac\n",
    );
    let ran = bed.command(&["lit", "."]).env("OUTER", "1").output().map(|o| bed.outcome(&o)).unwrap();
    ran.check(0, &["PASS: s :: a.sh"]);
}

#[test]
fn bash_is_looked_for_where_lit_looks() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    bed.write("runproof.toml", format!("{CONFIG}{EXTERNAL}").as_bytes());
    executable(&bed, "bin/bash", "#!/bin/sh\necho not the system\nexit 1\n");
    lit(&bed, &["-v", "--path=bin"]).check(1, &["not the system"]);
    let path = std::env::join_paths([bed.root.join("bin"), "/bin".into(), "/usr/bin".into()]).unwrap();
    let ran = bed.command(&["lit", "."]).env("PATH", path).output().map(|o| bed.outcome(&o)).unwrap();
    // Without such an option the system's own folders come before PATH.
    let system = ["/bin/bash", "/usr/bin/bash"].iter().any(|p| std::path::Path::new(p).exists());
    assert_eq!(ran.status, Some(i32::from(!system)), "{}", ran.text());
}

#[test]
fn variables_that_lit_hands_on_are_handed_on() {
    let bed = suite(&[(
        "a.t",
        "RUN: sh -c 'test $AVRLIT_BOARD-$AVRLIT_PORT-$VCINSTALLDIR-$NOT_HANDED_ON = a-b-c-'\n",
    )]);
    let mut command = bed.command(&["lit", "-v", "."]);
    command.envs([
        ("AVRLIT_BOARD", "a"),
        ("AVRLIT_PORT", "b"),
        ("VCINSTALLDIR", "c"),
        ("NOT_HANDED_ON", "d"),
    ]);
    command.output().map(|o| bed.outcome(&o)).unwrap().check(0, &["PASS: s :: a.t"]);
}

#[test]
fn arguments_of_the_environment_are_taken_apart_as_a_shell_does() {
    let bed = suite(&[("a.t", "RUN: true\n"), ("b.t", "RUN: true\n")]);
    let with = |words: &str| {
        bed.command(&["lit", "."]).env("LIT_OPTS", words).output().map(|o| bed.outcome(&o)).unwrap()
    };
    with(r#""--filter=a\.t""#).check(0, &["-- Testing: 1 of 2 tests"]);
    with("-v '--filter=a").check(2, &["lit: error: LIT_OPTS: a quotation is not closed: '-v '--filter=a'"]);
}

#[test]
fn filters_are_patterns_of_pythons() {
    let bed = suite(&[("a.t", "RUN: true\n"), ("b.t", "RUN: true\n")]);
    lit(&bed, &["--filter=(?!x)B"]).check(0, &["-- Testing: 1 of 2 tests", "PASS: s :: b.t"]);
    lit(&bed, &["--filter-out=(?<=:: )a"]).check(0, &["-- Testing: 1 of 2 tests", "PASS: s :: b.t"]);
}

#[test]
fn warnings_are_as_loud_as_they_are_asked_for() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    std::fs::create_dir(bed.root.join("none")).unwrap();
    let words = "lit: warning: input 'none' contained no tests";
    bed.run(&["lit", "a.t", "none"]).check(0, &[words, "1 warning(s) in tests"]);
    let quiet = bed.run(&["lit", "-q", "a.t", "none"]);
    quiet.check(0, &["1 warning(s) in tests"]);
    assert!(!quiet.stderr.contains(words), "{}", quiet.stderr);
    bed.write("none/runproof.toml", CONFIG.replace("\"s\"", "\"n\"").as_bytes());
    lit(&bed, &[]).check(0, &["lit: warning: test suite 'n' contained no tests", "1 warning(s) in tests"]);
}

#[test]
fn the_largest_numbers_are_numbers() {
    let bed = suite(&[("a.t", "ALLOW_RETRIES: 4294967295\nRUN: true\n")]);
    let largest = u64::MAX.to_string();
    for option in ["--timeout", "--max-time"] {
        lit(&bed, &[option, &largest]).check(0, &["PASS: s :: a.t"]);
    }
    bed.write("runproof.toml", format!("{CONFIG}{EXTERNAL}").as_bytes());
    lit(&bed, &["--timeout", &largest]).check(0, &["PASS: s :: a.t"]);
}

#[test]
fn an_error_of_the_system_has_its_kind_and_its_file() {
    let bed = suite(&[("a.t", "RUN: true\n")]);
    std::os::unix::fs::symlink("nowhere", bed.root.join("b.t")).unwrap();
    let gone = format!(
        "\nFileNotFoundError: [Errno 2] No such file or directory: '{}'\n",
        bed.root.join("b.t").display()
    );
    lit(&bed, &["-v"]).check(1, &["PASS: s :: a.t", "UNRESOLVED: s :: b.t", &gone]);
    let bed = suite(&[("a.t", "#!/bin/sh\n")]);
    bed.write("runproof.toml", format!("{CONFIG}format = {{ kind = \"executable\" }}\n").as_bytes());
    lit(&bed, &["-v"])
        .check(1, &["UNRESOLVED: s :: a.t", "\nPermissionError: [Errno 13] Permission denied: '"]);
}

#[test]
fn a_temporary_folder_that_is_not_there_is_passed_over() {
    let beds = [suite(&[("a.t", "RUN: sh -c 'test -d $TMPDIR -a -w $TMPDIR'\n")])];
    let python = has_python_lit().then(|| python_suite(&[("a.t", "RUN: true\n")]));
    for bed in beds.iter().chain(&python) {
        let ran = bed
            .command(&["lit", "-v", "."])
            .env("TMPDIR", "/none")
            .output()
            .map(|o| bed.outcome(&o))
            .unwrap();
        ran.check(0, &["PASS: s :: a.t"]);
    }
}

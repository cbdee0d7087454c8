//! What `-dump-input=help` explains.

/// The explanation of the dump's format.
pub(in crate::check) const DUMP_HELP: &str = "\
The following description was requested by -dump-input=help to explain the
input dump printed by FileCheck.

Related command-line options:

  - -dump-input=<value> enables or disables the input dump
  - -v and -vv add what matched and what was tried
  - -dump-input-filter=<value> says which input lines are shown
  - -dump-input-context=<N> says how many lines around those are shown

Under an input line stands what checks made of it. Labels and marks:

  - L:      the number of an input line
  - T:L     a check of type T in line L of the check file, as in check:5
  - not:impN  the Nth --implicit-check-not, in the order of the options
  - T:L'N   the Nth thing to say of the same check
  - ^~~     a match that was wanted (-v)
  - !~~     a match that is not good: forbidden text (error), text on the wrong
            line (error), or a -DAG match that overlaps another and was passed
            over (-vv)
  - X~~     a range that was searched and has no match: an error for a wanted
            text and for a pattern without a value, good for a forbidden one (-vv)
  - ?       what a wanted text may have been meant for
  - ...     lines that the filter left out stand as three dots

The space behind a line is its line end, so that marks can stand under it.

  - colors green matched, red error, magenta intended, cyan passed over or (-v) not matched
";

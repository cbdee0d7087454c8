//! What lit shows, from arguments of which each sets several things: the last one wins, so their order counts.

use crate::lit::report::Whose;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

/// How important a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Diagnostic {
    /// The run cannot go on.
    Error,
    /// Something is wrong.
    Warning,
    /// Good to know.
    #[default]
    Note,
}

/// The arguments as they are given.
#[derive(Args)]
struct Given {
    /// Whose commands and outputs are shown [default: off]. Raises `--print-result-after` to the same level.
    #[arg(long, value_enum, value_name = "WHICH")]
    test_output: Option<Whose>,
    /// Whose result lines are shown [default: all]. Lowers `--test-output` to the same level.
    #[arg(long, value_enum, value_name = "WHICH")]
    print_result_after: Option<Whose>,
    /// Least important messages that are shown [default: note].
    #[arg(long, value_enum, value_name = "LEVEL")]
    diagnostic_level: Option<Diagnostic>,
    /// Only count failures at the end.
    #[arg(long)]
    terse_summary: bool,
    /// Count all results at the end.
    #[arg(long)]
    no_terse_summary: bool,
    /// Only failures, and a terse summary.
    #[arg(short, long)]
    quiet: bool,
    /// A progress bar, and only failures.
    #[arg(short, long)]
    succinct: bool,
    /// Show the commands and outputs of failed tests.
    #[arg(short, long)]
    verbose: bool,
    /// As `-v`.
    #[arg(long)]
    echo_all_commands: bool,
    /// Show the commands and outputs of all tests.
    #[arg(short = 'a', long)]
    show_all: bool,
    /// Show a progress bar.
    #[arg(long)]
    progress_bar: bool,
    /// Show none.
    #[arg(long)]
    no_progress_bar: bool,
}

/// What all of them come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loudness {
    /// Whose result lines.
    pub results: Whose,
    /// Whose outputs.
    pub outputs: Whose,
    /// Which messages.
    pub level: Diagnostic,
    /// Only failures are counted.
    pub terse: bool,
    /// A progress bar.
    pub bar: bool,
}

impl Default for Loudness {
    fn default() -> Self {
        Self {
            results: Whose::All,
            outputs: Whose::Nobody,
            level: Diagnostic::Note,
            terse: false,
            bar: false,
        }
    }
}

impl Loudness {
    /// Outputs stand behind result lines: who has the one has the other.
    fn outputs(&mut self, whose: Whose) {
        self.outputs = whose;
        self.results = self.results.max(whose);
    }

    fn results(&mut self, whose: Whose) {
        self.results = whose;
        self.outputs = self.outputs.min(whose);
    }

    fn take(&mut self, name: &str, given: &Given) {
        match name {
            "test_output" => self.outputs(given.test_output.unwrap_or_default()),
            "print_result_after" => self.results(given.print_result_after.unwrap_or_default()),
            "diagnostic_level" => self.level = given.diagnostic_level.unwrap_or_default(),
            "terse_summary" => self.terse = true,
            "no_terse_summary" => self.terse = false,
            "quiet" => {
                self.results(Whose::Failed);
                self.outputs(Whose::Nobody);
                self.level = Diagnostic::Error;
                self.terse = true;
            }
            "succinct" => {
                self.bar = true;
                self.results(Whose::Failed);
            }
            "verbose" | "echo_all_commands" => self.outputs(Whose::Failed),
            "show_all" => self.outputs(Whose::All),
            "progress_bar" => self.bar = true,
            "no_progress_bar" => self.bar = false,
            _ => {}
        }
    }
}

impl Args for Loudness {
    fn augment_args(command: Command) -> Command {
        Given::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args_for_update(command)
    }
}

impl FromArgMatches for Loudness {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Given::from_arg_matches(matches)?;
        let command = Given::augment_args(Command::new("lit"));
        let mut places: Vec<(usize, &str)> = command
            .get_arguments()
            .map(|argument| argument.get_id().as_str())
            .filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine))
            .filter_map(|name| Some((matches.indices_of(name)?.next_back()?, name)))
            .collect();
        places.sort_unstable();
        let mut loudness = Self::default();
        for (_, name) in places {
            loudness.take(name, &given);
        }
        Ok(loudness)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, results: Whose, outputs: Whose, flags: [bool; 2]) {
        let command = Loudness::augment_args(Command::new("lit").args_override_self(true));
        let words = std::iter::once("lit").chain(arguments.split_whitespace());
        let parsed = Loudness::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap();
        let shown = (parsed.results, parsed.outputs, [parsed.terse, parsed.bar]);
        assert_eq!(shown, (results, outputs, flags), "{arguments}");
    }

    #[test]
    fn the_last_one_wins() {
        use Whose::{All, Failed, FailedOrFlaky, Nobody};
        check("", All, Nobody, [false, false]);
        check("-v", All, Failed, [false, false]);
        check("-vv -v", All, Failed, [false, false]);
        check("-q", Failed, Nobody, [true, false]);
        check("-a -q", Failed, Nobody, [true, false]);
        check("-q -a", All, All, [true, false]);
        check("-sqav", All, Failed, [true, true]);
        check("-s -a", All, All, [false, true]);
        check("-a -s", Failed, Failed, [false, true]);
        check("--print-result-after off --test-output failed", Failed, Failed, [false, false]);
        check(
            "--test-output=all --print-result-after=failed-or-flaky",
            FailedOrFlaky,
            FailedOrFlaky,
            [false, false],
        );
        check("--quiet --no-terse-summary --progress-bar", Failed, Nobody, [false, true]);
    }
}

//! How a program ended, in words. A code and a signal are two things, and stay two things.
//!
//! Pure but for the conversion from [`ExitStatus`], so that the numbers of every system can be tested on any.

use runproof_records::record::Exit;
use std::process::ExitStatus;

/// Signals by number, as Linux has them on x86-64 and aarch64.
#[cfg(not(target_os = "macos"))]
const SIGNALS: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];
/// Signals by number, as macOS has them.
#[cfg(target_os = "macos")]
const SIGNALS: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGEMT",
    "SIGFPE",
    "SIGKILL",
    "SIGBUS",
    "SIGSEGV",
    "SIGSYS",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGURG",
    "SIGSTOP",
    "SIGTSTP",
    "SIGCONT",
    "SIGCHLD",
    "SIGTTIN",
    "SIGTTOU",
    "SIGIO",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGINFO",
    "SIGUSR1",
    "SIGUSR2",
];

/// NTSTATUS values that mean a crash (winnt.h, ntstatus.h).
const NTSTATUS: [(u32, &str); 12] = [
    (0x8000_0003, "breakpoint"),
    (0xC000_0005, "access violation"),
    (0xC000_0006, "in-page error"),
    (0xC000_001D, "illegal instruction"),
    (0xC000_0025, "noncontinuable exception"),
    (0xC000_008E, "floating-point division by zero"),
    (0xC000_0094, "integer division by zero"),
    (0xC000_0096, "privileged instruction"),
    (0xC000_00FD, "stack overflow"),
    (0xC000_013A, "ended by Ctrl-C"),
    (0xC000_0374, "heap corruption"),
    (0xC000_0409, "fast fail (abort or stack buffer overrun)"),
];

/// The name of a signal; `SIG40` for one that has none.
pub fn signal_name(number: i32) -> String {
    usize::try_from(number)
        .ok()
        .and_then(|n| SIGNALS.get(n.wrapping_sub(1)))
        .map_or_else(|| format!("SIG{number}"), |name| (*name).to_owned())
}

/// The number of a signal; with or without `SIG`.
pub fn signal_number(name: &str) -> Option<i32> {
    let bare = name.strip_prefix("SIG").unwrap_or(name);
    let found = SIGNALS.iter().position(|s| &s[3..] == bare)?;
    i32::try_from(found + 1).ok()
}

/// How a process ended, from what the system says.
pub fn exit_of(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, Some(number)) => Exit::Signal { number, name: signal_name(number) },
        (None, None) => Exit::NotStarted { why: format!("the system says: {status}") },
    }
}

/// How a process ended on Windows, from the number as 32 bits of either sign.
///
/// A crash is an `NTSTATUS` of severity *error*; it is kept as a signal whose name has the number in
/// hexadecimal and its meaning. Everything else is an exit code.
pub fn windows_exit(raw: i64) -> Exit {
    let Ok(number) = u32::try_from(raw & 0xFFFF_FFFF) else { return Exit::NotReached };
    let known = NTSTATUS.iter().find(|(n, _)| *n == number);
    // -1 and its small neighbours are what programs return by themselves; NTSTATUS has facility bits below.
    let severe = (0xC000_0000..0xD000_0000).contains(&number);
    let as_i32 = number.cast_signed();
    match known {
        Some((_, meaning)) => Exit::Signal { number: as_i32, name: format!("0x{number:08X} {meaning}") },
        None if severe => Exit::Signal { number: as_i32, name: format!("0x{number:08X}") },
        None => Exit::Code { code: as_i32 },
    }
}

/// The signal that a shell may mean by an exit code, with the sum: `134 = 128 + signal 6 (SIGABRT)`.
pub fn shell_word(code: i32) -> Option<String> {
    let number = code.checked_sub(128).filter(|n| (1..=31).contains(n))?;
    Some(format!("{code} = 128 + signal {number} ({})", signal_name(number)))
}

/// How a process ended, as half a sentence: `exited 3`, `died of SIGSEGV (signal 11)`.
pub fn describe(exit: &Exit) -> String {
    match exit {
        Exit::Code { code } => match shell_word(*code) {
            Some(sum) => format!("exited {code} ({sum}: a shell's word for a crash)"),
            None => format!("exited {code}"),
        },
        Exit::Signal { number, name } => format!("died of {name} (signal {number})"),
        Exit::NotStarted { why } => why.clone(),
        Exit::TimedOut { limit_ms } => {
            let (whole, rest) = (limit_ms / 1000, limit_ms % 1000);
            let limit = if rest == 0 { format!("{whole} s") } else { format!("{limit_ms} ms") };
            format!("was ended after the limit of {limit}")
        }
        Exit::Interrupted => "was interrupted".to_owned(),
        Exit::NotReached => "was not reached".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_every_system() {
        let check = |exit: Exit, crash: bool, words: &str| {
            assert_eq!(matches!(exit, Exit::Signal { .. }), crash, "{exit:?}");
            assert!(describe(&exit).contains(words), "{}", describe(&exit));
        };
        check(Exit::Signal { number: 11, name: signal_name(11) }, true, "SIGSEGV");
        check(Exit::Code { code: 139 }, false, "139 = 128 + signal 11 (SIGSEGV)");
        check(windows_exit(3_221_225_477), true, "0xC0000005 access violation");
        check(windows_exit(-1_073_741_819), true, "0xC0000005 access violation");
        assert_eq!(windows_exit(3_221_225_477), windows_exit(-1_073_741_819));
        check(windows_exit(3), false, "exited 3");
        check(windows_exit(-1), false, "exited -1");
        check(windows_exit(i64::from(0xC000_0420_u32)), true, "0xC0000420");
        check(Exit::Code { code: 255 }, false, "exited 255");
        check(Exit::TimedOut { limit_ms: 2000 }, false, "2 s");
        check(Exit::TimedOut { limit_ms: 1500 }, false, "1500 ms");
    }

    #[test]
    fn names_and_numbers_agree() {
        for number in 1..=31 {
            assert_eq!(signal_number(&signal_name(number)), Some(number));
        }
        assert_eq!(signal_number("SEGV"), Some(11));
        assert_eq!(signal_number("SIGNOPE"), None);
        assert_eq!(signal_name(40), "SIG40");
        assert_eq!(signal_name(0), "SIG0");
    }

    #[test]
    fn shell_words() {
        assert_eq!(shell_word(134).as_deref(), Some("134 = 128 + signal 6 (SIGABRT)"));
        for code in [0, 1, 128, 160, 255, -1] {
            assert_eq!(shell_word(code), None, "{code}");
        }
    }
}

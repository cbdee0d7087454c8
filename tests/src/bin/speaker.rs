//! `speaker PROBE FILE`: a program that is its own inner probe. It says hello as PROBE, then the messages of FILE,
//! one JSON object a line, in which `"now"` stands for the time. What it says of itself is not to be believed.

use runproof_records::PROBE_SCHEMA;
use runproof_records::wire::{Hello, Line, Message, NONCE_VARIABLE, SINK_VARIABLE};
use runproof_tests::sys;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> ExitCode {
    match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [probe, file] => match speak(probe, file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("speaker: {why}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::from(2),
    }
}

fn speak(probe: &str, file: &str) -> Result<(), String> {
    let variable = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
    let address = variable(SINK_VARIABLE)?;
    let mut socket = UnixStream::connect(address.trim_start_matches("unix:")).map_err(|e| e.to_string())?;
    let hello = Message::Hello(Hello {
        v: PROBE_SCHEMA,
        nonce: variable(NONCE_VARIABLE)?,
        probe: probe.to_owned(),
        version: "1".to_owned(),
        api: "own words".to_owned(),
        api_version: "1".to_owned(),
        rc: [("attach".to_owned(), 0)].into(),
        ppid: std::os::unix::process::parent_id().cast_signed(),
        start_ticks: sys::start_ticks(),
        pidns: String::new(),
        exe: String::new(),
        boot_id: String::new(),
        rt: now(),
        mono: 0,
    });
    let mut seq = 0;
    let mut send = |socket: &mut UnixStream, msg: Message| -> Result<(), String> {
        let line = Line { seq, pid: std::process::id().cast_signed(), msg };
        seq += 1;
        let text = serde_json::to_string(&line).map_err(|e| e.to_string())?;
        writeln!(socket, "{text}").map_err(|e| e.to_string())
    };
    send(&mut socket, hello)?;
    // The harness looks at the process before it answers.
    socket.read_exact(&mut [0]).map_err(|e| e.to_string())?;
    let (mut kernels, text) = (0, std::fs::read_to_string(file).map_err(|e| e.to_string())?);
    for line in text.lines() {
        let message: Message =
            serde_json::from_str(&line.replace("\"now\"", &now().to_string())).map_err(|e| e.to_string())?;
        kernels += u64::from(matches!(message, Message::Kernel(_)));
        send(&mut socket, message)?;
    }
    let bye = Message::Bye { t: now(), launches: kernels, kernels, records: kernels, dropped: 0 };
    send(&mut socket, bye)
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

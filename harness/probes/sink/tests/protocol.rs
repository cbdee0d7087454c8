//! One process with one sink, as a harness sees it: numbering, requests, forks, and a harness that is gone.
//! A single test: the sink belongs to the process and so does the environment that it reads.
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

use runproof_probe_sink::{Hooks, Identity, Sink};
use runproof_records::wire::{FLUSH, Line, Message, NONCE_VARIABLE, SEEN, SINK_VARIABLE};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

fn error(what: &str) -> Message {
    Message::Error { what: what.into() }
}

/// A harness's end of a connection, acknowledged.
struct End {
    stream: UnixStream,
    lines: std::io::Lines<BufReader<UnixStream>>,
    next: u64,
}

impl End {
    fn accept(listener: &UnixListener) -> Self {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(&[SEEN]).unwrap();
        Self { lines: BufReader::new(stream.try_clone().unwrap()).lines(), stream, next: 0 }
    }

    fn read(&mut self) -> (i32, Message) {
        let line: Line = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line.seq, self.next, "numbers have no gap");
        self.next += 1;
        (line.pid, line.msg)
    }
}

#[test]
fn a_sink_speaks_the_protocol() {
    let folder = std::env::temp_dir().join(format!("rp-sink-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("s");
    let listener = UnixListener::bind(&path).unwrap();
    // SAFETY: the test harness's other thread only waits; nothing reads the environment meanwhile.
    unsafe {
        std::env::set_var(SINK_VARIABLE, format!("unix:{}", path.display()));
        std::env::set_var(NONCE_VARIABLE, "aa");
    }
    let first = std::thread::spawn(move || (End::accept(&listener), listener));
    let identity = Identity {
        probe: "p".into(),
        version: "1".into(),
        api: "a".into(),
        api_version: "2".into(),
        rc: [("arm".to_owned(), 0)].into(),
    };
    let hooks = Hooks { finished: |_| {}, everything: |sink| sink.emit(error("held back")), forked: |_| {} };
    let sink = Sink::open(identity, hooks).unwrap();
    let (mut end, listener) = first.join().unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    let (pid, Message::Hello(hello)) = end.read() else { panic!("the first line is no hello") };
    assert_eq!((pid, hello.nonce.as_str(), hello.ppid > 0), (own, "aa", true));

    sink.emit(error("one"));
    assert_eq!(end.read().1, error("one"));
    end.stream.write_all(&[FLUSH]).unwrap();
    assert_eq!(end.read().1, error("held back"));
    assert!(matches!(end.read().1, Message::Forced { records: 1, .. }));

    // SAFETY: the child only writes through the sink and ends past all exit handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        sink.emit(error("from the child"));
        // SAFETY: never returns.
        unsafe { libc::_exit(0) };
    }
    let mut forked = End::accept(&listener);
    assert!(matches!(forked.read(), (pid, Message::Hello(_)) if pid == child));
    assert_eq!(forked.read(), (child, error("from the child")));
    // SAFETY: the child was forked above and is waited for once.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    sink.emit(error("still here"));
    assert_eq!(end.read(), (own, error("still here")));

    drop(end);
    for _ in 0..3 {
        sink.emit(error("nobody listens, and nothing breaks"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

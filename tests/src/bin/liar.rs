//! `liar MODE --device opencl|cuda --index N --repeat N`: programs that say they computed on the device, and did
//! something else; and programs that end in ways which must not lose evidence. What they print is right in every
//! mode, so that nothing but placement can tell them from the honest program.

use runproof_records::PROBE_SCHEMA;
use runproof_records::wire::{self, Hello, Line, Message, NONCE_VARIABLE, SINK_VARIABLE};
use runproof_tests::arguments::{self, Arguments, Place};
use runproof_tests::device::{self, Device, Kernel};
use runproof_tests::operator::Operator;
use runproof_tests::{matmul, sys};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Act = fn(&Liar) -> Result<(), String>;

/// Name, what it does in words, and what does it.
const MODES: &[(&str, &str, Act)] = &[
    ("banner", "prints that it ran on the device and never touches it", Liar::on_host),
    ("enumerate", "lists the devices, then computes on the host", Liar::enumerate),
    ("context", "opens device, context and queue, then computes on the host", Liar::context),
    ("noop", "runs a kernel that does nothing, then computes on the host", Liar::noop),
    ("copies", "copies to the device and back, then computes on the host", Liar::copies),
    ("unset", "switches the probe off, then really computes on the device", Liar::unset),
    ("forge", "writes records to the harness's socket without the probe", Liar::forge),
    ("forge-beside", "writes records to the socket beside the probe's own", Liar::forge_beside),
    ("forge-context", "writes records, and opens a context behind the probe's back", Liar::forge_context),
    ("forge-nonce", "writes records with a nonce it made up", Liar::forge_nonce),
    ("flood", "fills the socket with noise", Liar::flood),
    ("late", "leaves a grandchild that computes on the device after the program ended", Liar::late),
    ("child", "computes on the device in a child process, honestly", Liar::child),
    ("segv", "dies by SIGSEGV right after the kernel", Liar::segv),
    ("abort", "dies by SIGABRT right after the kernel", Liar::abort),
    ("exit", "ends past all exit handlers right after the kernel", Liar::exit),
    ("kernel-crash", "dies inside its second kernel", Liar::kernel_crash),
    ("hang", "hangs before any kernel", Liar::hang),
    ("hang-after", "hangs after the kernel", Liar::hang_after),
    ("spin", "stays inside a second kernel for a minute", Liar::spin),
];

/// Does nothing.
const NOOP: Kernel = Kernel {
    name: "noop",
    opencl: "kernel void noop(void) {}",
    cuda: "extern \"C\" __global__ void noop() {}",
    grid: (1, 1),
};

/// Writes where nothing is.
const CRASH: Kernel = Kernel {
    name: "crash",
    opencl: "kernel void crash(void) { *(volatile global int *)8 = 1; }",
    cuda: "extern \"C\" __global__ void crash() { *(volatile int *)8 = 1; }",
    grid: (1, 1),
};

/// Runs for a minute on the device's own clock, and so ends by itself where nobody kills it. OpenCL has no clock.
const SPIN: Kernel = Kernel {
    name: "spin",
    opencl: "#error only for CUDA",
    cuda: "__device__ unsigned long long nanoseconds() {
            unsigned long long now;
            asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now));
            return now;
        }
        extern \"C\" __global__ void spin() {
            const unsigned long long begin = nanoseconds();
            while (nanoseconds() - begin < 60000000000ull) {}
        }",
    grid: (1, 1),
};

/// An interface as the harness observes it.
struct Interface {
    /// The word of `--device`.
    kind: &'static str,
    /// The variable that loads the probe.
    variable: &'static str,
    /// The probe, what it watches, and the calls whose success it states.
    probe: &'static str,
    api: &'static str,
    calls: &'static [&'static str],
}

const OPENCL: Interface = Interface {
    kind: "opencl",
    variable: "OPENCL_LAYERS",
    probe: "opencl.layer",
    api: "OpenCL",
    calls: &["layer"],
};

const CUDA: Interface = Interface {
    kind: "cuda",
    variable: "CUDA_INJECTION64_PATH",
    probe: "cuda.cupti",
    api: "CUPTI",
    calls: &["subscribe", "register", "enable.1", "enable.8", "enable.9", "enable.10"],
};

struct Liar {
    place: Place,
    repeat: u32,
    operator: Operator,
}

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let mode = given.next().unwrap_or_default();
    let Some((_, _, act)) = MODES.iter().find(|(name, _, _)| *name == mode) else {
        return usage("no such mode");
    };
    let Arguments { place, repeat, .. } = match arguments::read(given) {
        Ok(arguments) => arguments,
        Err(why) => return usage(&why),
    };
    match act(&Liar { place, repeat, operator: matmul::operator() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("liar {mode}: {why}");
            ExitCode::from(3)
        }
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("{why}\nusage: liar MODE --device opencl|cuda --index N --repeat N");
    for (name, what, _) in MODES {
        eprintln!("  {name:<13} {what}");
    }
    ExitCode::from(2)
}

impl Liar {
    fn say(&self, padded: &[f32]) {
        print!("EXECUTING ON GPU\n{}", self.operator.subject.report(padded).0);
        let _ = std::io::stdout().flush();
    }

    fn on_host(&self) -> Result<(), String> {
        self.say(&self.operator.subject.on_host());
        Ok(())
    }

    fn open(&self) -> Result<Box<dyn Device>, String> {
        device::open(self.place)
    }

    fn on_device(&self) -> Result<Box<dyn Device>, String> {
        let device = self.open()?;
        self.say(&self.operator.on_device(&*device, self.repeat)?);
        Ok(device)
    }

    fn interface(&self) -> Interface {
        match self.place {
            Place::Cuda(_) => CUDA,
            Place::Host | Place::OpenCl(_) => OPENCL,
        }
    }

    fn blind(&self) {
        sys::unset(self.interface().variable);
    }

    fn enumerate(&self) -> Result<(), String> {
        device::facts(self.place)?;
        self.on_host()
    }

    fn context(&self) -> Result<(), String> {
        let _device = self.open()?;
        self.on_host()
    }

    fn copies(&self) -> Result<(), String> {
        let device = self.open()?;
        for input in &self.operator.subject.inputs {
            device.round_trip(input)?;
        }
        self.on_host()
    }

    fn noop(&self) -> Result<(), String> {
        self.open()?.run(&NOOP)?;
        self.on_host()
    }

    fn unset(&self) -> Result<(), String> {
        self.blind();
        self.on_device().map(drop)
    }

    fn forge(&self) -> Result<(), String> {
        self.blind();
        self.forge_records(&variable(NONCE_VARIABLE)?)
    }

    fn forge_beside(&self) -> Result<(), String> {
        let _device = self.open()?;
        self.forge_records(&variable(NONCE_VARIABLE)?)
    }

    fn forge_context(&self) -> Result<(), String> {
        self.blind();
        let _device = self.open()?;
        self.forge_records(&variable(NONCE_VARIABLE)?)
    }

    fn forge_nonce(&self) -> Result<(), String> {
        self.blind();
        self.forge_records(&"5".repeat(32))
    }

    /// Says everything that the probe would say, with the device's real facts and plausible times.
    fn forge_records(&self, nonce: &str) -> Result<(), String> {
        let device = device::facts(self.place)?;
        let Interface { probe, api, calls, .. } = self.interface();
        let dev = device.dev;
        let bytes = (self.operator.subject.elements * size_of::<f32>()) as u64;
        let mut socket = connect()?;
        let now = realtime();
        let messages = [
            Message::Hello(Hello {
                v: PROBE_SCHEMA,
                nonce: nonce.into(),
                probe: probe.into(),
                version: env!("CARGO_PKG_VERSION").into(),
                api: api.into(),
                api_version: "1.0".into(),
                rc: calls.iter().map(|call| ((*call).to_owned(), 0)).collect(),
                ppid: std::os::unix::process::parent_id().cast_signed(),
                start_ticks: sys::start_ticks(),
                pidns: String::new(),
                exe: String::new(),
                boot_id: String::new(),
                rt: now,
                mono: 1,
            }),
            Message::Device(device),
            Message::Context { dev, t: now },
            Message::Alloc { dev, bytes, t: now, op: "alloc".into(), memkind: "device".into() },
            Message::Kernel(wire::Kernel {
                name: self.operator.kernel.name.into(),
                dev,
                stream: 1,
                start: now,
                end: now + 50_000,
                grid: vec![self.operator.subject.elements as u64],
                block: vec![],
                corr: 1,
            }),
            Message::Memcpy { dir: wire::Direction::D2H, bytes, start: now + 51_000, end: now + 55_000, dev },
            Message::Bye { t: now + 60_000, launches: 1, kernels: 1, records: 6, dropped: 0 },
        ];
        std::thread::sleep(Duration::from_millis(1));
        for (seq, msg) in (0..).zip(messages) {
            let pid = std::process::id().cast_signed();
            let mut text = serde_json::to_string(&Line { seq, pid, msg }).map_err(|e| e.to_string())?;
            text.push('\n');
            socket.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
        }
        self.on_host()
    }

    fn flood(&self) -> Result<(), String> {
        let mut socket = connect()?;
        for n in 0..2_000 {
            // The harness may hang up at any time; the program's own lie goes on.
            if writeln!(socket, "noise {n}").is_err() {
                break;
            }
        }
        let _ = socket.write_all(&vec![b'x'; 1 << 20]);
        self.on_host()
    }

    /// The grandchild says when it has its device open, and works only once this program is gone.
    fn late(&self) -> Result<(), String> {
        if std::env::var_os("LIAR_GRANDCHILD").is_some() {
            let device = self.open()?;
            println!("ready");
            // Its standard input ends with this program.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            // And some while after it, so that no clock can take the one for the other.
            std::thread::sleep(Duration::from_millis(300));
            self.operator.on_device(&*device, self.repeat)?;
            return Ok(());
        }
        let mut grandchild = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .arg("late")
            .args(self.arguments())
            .env("LIAR_GRANDCHILD", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let mut line = String::new();
        if let Some(stdout) = grandchild.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|e| e.to_string())?;
        }
        self.on_host()
    }

    /// The arguments that lead another program to the same place.
    fn arguments(&self) -> [String; 6] {
        let (Place::OpenCl(index) | Place::Cuda(index)) = self.place else {
            return Default::default();
        };
        let kind = self.interface().kind;
        let (index, repeat) = (index.to_string(), self.repeat.to_string());
        ["--device", kind, "--index", &index, "--repeat", &repeat].map(str::to_owned)
    }

    fn child(&self) -> Result<(), String> {
        let exe = std::env::current_exe().map_err(|e| e.to_string())?;
        let status = Command::new(exe.with_file_name("matmul"))
            .args(self.arguments())
            .status()
            .map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the child ended with {status}")) }
    }

    fn segv(&self) -> Result<(), String> {
        let _device = self.on_device()?;
        sys::die_by(libc::SIGSEGV)
    }

    fn abort(&self) -> Result<(), String> {
        let _device = self.on_device()?;
        sys::die_by(libc::SIGABRT)
    }

    fn exit(&self) -> Result<(), String> {
        let _device = self.on_device()?;
        sys::exit_now(0)
    }

    fn kernel_crash(&self) -> Result<(), String> {
        self.on_device()?.run(&CRASH)
    }

    fn hang(&self) -> Result<(), String> {
        let _device = self.open()?;
        self.on_host()?;
        hang()
    }

    fn hang_after(&self) -> Result<(), String> {
        let _device = self.on_device()?;
        hang()
    }

    fn spin(&self) -> Result<(), String> {
        self.on_device()?.run(&SPIN)
    }
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("no {name}: there is no harness to lie to"))
}

fn connect() -> Result<UnixStream, String> {
    let address = variable(SINK_VARIABLE)?;
    UnixStream::connect(address.trim_start_matches("unix:")).map_err(|e| e.to_string())
}

fn realtime() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

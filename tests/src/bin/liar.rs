//! `liar MODE [--index N]`: programs that say they computed on the device, and did something else; and
//! programs that end in ways which must not lose evidence. What they print is right in every mode, so that
//! nothing but placement can tell them from the honest program.

use runproof_records::PROBE_SCHEMA;
use runproof_records::wire::{
    Device, DeviceClass, Hello, Kernel, Line, Message, NONCE_VARIABLE, SINK_VARIABLE,
};
use runproof_tests::operator::Operator;
use runproof_tests::sys::opencl::OpenCl;
use runproof_tests::{matmul, sys};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Act = fn(&Liar) -> Result<(), String>;

/// Name, what it does in words, and what does it.
const MODES: &[(&str, &str, Act)] = &[
    ("banner", "prints that it ran on the device and never touches it", Liar::on_host),
    ("context", "opens device, context and queue, then computes on the host", Liar::context),
    ("noop", "runs a kernel that does nothing, then computes on the host", Liar::noop),
    ("unset", "switches the probe off, then really computes on the device", Liar::unset),
    ("forge", "writes records to the harness's socket without the probe", Liar::forge),
    ("forge-beside", "writes records to the socket beside the probe's own", Liar::forge_beside),
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
];

struct Liar {
    index: usize,
    operator: Operator,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, index) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [mode] => (mode, "0"),
        [mode, "--index", index] => (mode, index),
        _ => return usage(),
    };
    let (Some((_, _, act)), Ok(index)) = (MODES.iter().find(|(name, _, _)| *name == mode), index.parse())
    else {
        return usage();
    };
    match act(&Liar { index, operator: matmul::operator() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("liar {mode}: {why}");
            ExitCode::from(3)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: liar MODE [--index N]");
    for (name, what, _) in MODES {
        eprintln!("  {name:<13} {what}");
    }
    ExitCode::from(2)
}

impl Liar {
    fn say(&self, padded: &[f32]) {
        print!("EXECUTING ON GPU\n{}", self.operator.report(padded).0);
        let _ = std::io::stdout().flush();
    }

    fn on_host(&self) -> Result<(), String> {
        self.say(&self.operator.on_host());
        Ok(())
    }

    fn on_device(&self) -> Result<OpenCl, String> {
        let device = OpenCl::open(self.index)?;
        self.say(&self.operator.on_device(&device)?);
        Ok(device)
    }

    fn context(&self) -> Result<(), String> {
        let _device = OpenCl::open(self.index)?;
        self.on_host()
    }

    fn noop(&self) -> Result<(), String> {
        let device = OpenCl::open(self.index)?;
        device.run("kernel void noop(void) {}", "noop", &[], 1)?;
        device.finish()?;
        self.on_host()
    }

    fn unset(&self) -> Result<(), String> {
        sys::unset("OPENCL_LAYERS");
        self.on_device().map(drop)
    }

    fn forge(&self) -> Result<(), String> {
        sys::unset("OPENCL_LAYERS");
        self.forge_records(&variable(NONCE_VARIABLE)?)
    }

    fn forge_beside(&self) -> Result<(), String> {
        self.forge_records(&variable(NONCE_VARIABLE)?)
    }

    fn forge_nonce(&self) -> Result<(), String> {
        sys::unset("OPENCL_LAYERS");
        self.forge_records(&"5".repeat(32))
    }

    /// Says everything that the probe would say, with the device's real facts and plausible times.
    fn forge_records(&self, nonce: &str) -> Result<(), String> {
        let [name, vendor, driver, platform] = OpenCl::open(self.index)?.facts();
        let mut socket = connect()?;
        let now = realtime();
        let units = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let messages = [
            Message::Hello(Hello {
                v: PROBE_SCHEMA,
                nonce: nonce.into(),
                probe: "opencl.layer".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                api: "OpenCL".into(),
                api_version: "layer 1.0".into(),
                rc: [("layer".to_owned(), 0)].into(),
                ppid: std::os::unix::process::parent_id().cast_signed(),
                start_ticks: sys::start_ticks(),
                pidns: String::new(),
                exe: String::new(),
                boot_id: String::new(),
                rt: now,
                mono: 1,
            }),
            Message::Device(Device {
                dev: 0,
                uuid: None,
                name,
                vendor,
                class: DeviceClass::Cpu,
                capability: None,
                units,
                memory: 1 << 32,
                pci: None,
                platform: Some(platform),
                driver,
                visible: true,
                mig: None,
            }),
            Message::Context { dev: 0, t: now },
            Message::Kernel(Kernel {
                name: self.operator.kernel.into(),
                dev: 0,
                stream: 1,
                start: now,
                end: now + 50_000,
                grid: vec![self.operator.elements as u64],
                block: vec![],
                corr: 1,
            }),
            Message::Bye { t: now + 60_000, launches: 1, kernels: 1, records: 4, dropped: 0 },
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
        for n in 0..50_000 {
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
            let device = OpenCl::open(self.index)?;
            println!("ready");
            // Its standard input ends with this program.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            // And some while after it, so that no clock can take the one for the other.
            std::thread::sleep(Duration::from_millis(300));
            self.operator.on_device(&device)?;
            return Ok(());
        }
        let mut grandchild = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .args(["late", "--index", &self.index.to_string()])
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

    fn child(&self) -> Result<(), String> {
        let exe = std::env::current_exe().map_err(|e| e.to_string())?;
        let status = Command::new(exe.with_file_name("matmul"))
            .args(["--device", "opencl", "--index", &self.index.to_string()])
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
        let device = self.on_device()?;
        let source = "kernel void crash(void) { *(volatile global int *)8 = 1; }";
        device.run(source, "crash", &[], 1)?;
        device.finish()
    }

    fn hang(&self) -> Result<(), String> {
        let _device = OpenCl::open(self.index)?;
        self.on_host()?;
        hang()
    }

    fn hang_after(&self) -> Result<(), String> {
        let _device = self.on_device()?;
        hang()
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

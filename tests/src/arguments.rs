//! The command line of an operator program: `--device KIND --index N --repeat N --spoil WHAT`.

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In Rust, on the host.
    Host,
    /// On the OpenCL device with this position, counted over all platforms in their order.
    OpenCl(usize),
    /// On the CUDA device with this position, as the driver counts those that are visible.
    Cuda(usize),
}

/// What to spoil in the output before it is checked: shows that the check can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Nothing.
    Nothing,
    /// One element, by a hundredth.
    Element,
    /// One guard.
    Guard,
}

/// What a command line said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `--device` and `--index`; the host and 0 unless given.
    pub place: Place,
    /// `--repeat`: how often a device runs each kernel; once unless given. A counter of busy time cannot see a
    /// kernel of a few microseconds.
    pub repeat: u32,
    /// `--spoil`; nothing unless given.
    pub spoil: Spoil,
}

/// Reads a command line.
///
/// # Errors
/// A sentence about the first argument that is not understood.
pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
    let (mut device, mut index, mut repeat, mut spoil) = ("host".to_owned(), 0, 1, Spoil::Nothing);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => device = value()?,
            "--index" => index = number(&argument, &value()?)?,
            "--repeat" => repeat = number(&argument, &value()?)?,
            "--spoil" => {
                spoil = match value()?.as_str() {
                    "element" => Spoil::Element,
                    "guard" => Spoil::Guard,
                    other => return Err(format!("--spoil {other}: element or guard")),
                };
            }
            _ => {
                return Err(format!(
                    "unknown argument {argument}; known: --device, --index, --repeat, --spoil"
                ));
            }
        }
    }
    let place = match device.as_str() {
        "host" => Place::Host,
        "opencl" => Place::OpenCl(index),
        "cuda" => Place::Cuda(index),
        other => return Err(format!("--device {other}: this program knows host, opencl and cuda")),
    };
    Ok(Arguments { place, repeat, spoil })
}

fn number<T: std::str::FromStr>(argument: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{argument} {text}: not a number"))
}

//! The command line of an operator program: `--device KIND --index N --spoil WHAT`.

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In Rust, on the host.
    Host,
    /// On the OpenCL device with this position, counted over all platforms in their order.
    OpenCl(usize),
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

/// Reads `--device host|opencl`, `--index N` and `--spoil element|guard`; the defaults are `host`, 0 and
/// nothing.
///
/// # Errors
/// A sentence about the first argument that is not understood.
pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<(Place, Spoil), String> {
    let (mut device, mut index, mut spoil) = ("host".to_owned(), 0, Spoil::Nothing);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => device = value()?,
            "--index" => {
                let text = value()?;
                index = text.parse().map_err(|_| format!("--index {text}: not a number"))?;
            }
            "--spoil" => {
                spoil = match value()?.as_str() {
                    "element" => Spoil::Element,
                    "guard" => Spoil::Guard,
                    other => return Err(format!("--spoil {other}: element or guard")),
                };
            }
            _ => return Err(format!("unknown argument {argument}; known: --device, --index, --spoil")),
        }
    }
    match device.as_str() {
        "host" => Ok((Place::Host, spoil)),
        "opencl" => Ok((Place::OpenCl(index), spoil)),
        other => Err(format!("--device {other}: this program knows host and opencl")),
    }
}

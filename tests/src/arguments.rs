//! The command line of an operator program: `--device KIND --index N`.

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In Rust, on the host.
    Host,
    /// On the OpenCL device with this position, counted over all platforms in their order.
    OpenCl(usize),
}

/// Reads `--device host|opencl` and `--index N`; both have defaults, `host` and 0.
///
/// # Errors
/// A sentence about the first argument that is not understood.
pub fn place(arguments: impl IntoIterator<Item = String>) -> Result<Place, String> {
    let (mut device, mut index) = ("host".to_owned(), 0);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => device = value()?,
            "--index" => {
                let text = value()?;
                index = text.parse().map_err(|_| format!("--index {text}: not a number"))?;
            }
            _ => return Err(format!("unknown argument {argument}; known: --device, --index")),
        }
    }
    match device.as_str() {
        "host" => Ok(Place::Host),
        "opencl" => Ok(Place::OpenCl(index)),
        other => Err(format!("--device {other}: this program knows host and opencl")),
    }
}

//! The energy counters of the whole machine, through macmon.

use macmon::Sampler;

/// Reads the counters. Not to be sent to another thread.
pub struct Meter {
    sampler: Sampler,
    source: &'static str,
}

/// Mean power over a reading, milliwatts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Of the Neural Engine. From the older counters 0 may mean that nobody knows.
    pub engine: f64,
    /// Of the processors.
    pub processors: f64,
}

impl Meter {
    /// Opens the counters: on macOS 27 and newer those that fail instead of standing at 0.
    ///
    /// # Errors
    /// What macmon says.
    pub fn open(macos: u32) -> Result<Self, String> {
        let (sampler, source) = if macos >= 27 {
            (Sampler::with_clpc(), "macmon.clpc")
        } else {
            (Sampler::new(), "macmon.ioreport")
        };
        let sampler = sampler.map_err(|error| format!("the energy counters cannot be read: {error}"))?;
        Ok(Self { sampler, source })
    }

    /// What is read, for records.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Lets the next reading begin about here. macmon averages from its last sample on, however long ago that was, so
    /// that the first reading after a pause is of the pause, too.
    pub fn restart(&mut self, milliseconds: u32) {
        // What it says is of the time before; a failure will be one of the next reading as well.
        let _ = self.sampler.get_metrics(milliseconds);
    }

    /// Mean power over `milliseconds` from the reading before on; waits until they are over.
    ///
    /// # Errors
    /// What macmon says.
    pub fn read(&mut self, milliseconds: u32) -> Result<Power, String> {
        let metrics = self
            .sampler
            .get_metrics(milliseconds)
            .map_err(|error| format!("the energy counters gave no value: {error}"))?;
        Ok(Power {
            engine: f64::from(metrics.ane_power) * 1e3,
            processors: f64::from(metrics.cpu_power) * 1e3,
        })
    }
}

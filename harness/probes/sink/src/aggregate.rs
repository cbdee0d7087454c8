//! Kernels beyond the line cap, summed per name and device.
//!
//! Each [`Message::KernelAgg`] is the sum *since the last one*, so a reader adds them up and a crash loses
//! at most what was summed since the last flush.

use runproof_records::wire::{KERNEL_LINE_CAP, Kernel, Message};
use std::collections::BTreeMap;

/// Counts per name and device, and the sums that wait to be written.
#[derive(Default)]
pub struct Sums {
    seen: BTreeMap<(String, u32), u64>,
    waiting: BTreeMap<(String, u32), Sum>,
}

struct Sum {
    n: u64,
    ns: u64,
    first: u64,
    last: u64,
}

impl Sums {
    /// The line to write for `kernel`, or `None` when it went into a sum. An unfinished kernel has no
    /// duration to add and is always written.
    pub fn take(&mut self, kernel: Kernel) -> Option<Message> {
        let key = (kernel.name.clone(), kernel.dev);
        let seen = self.seen.entry(key.clone()).or_default();
        *seen += 1;
        if *seen <= KERNEL_LINE_CAP || kernel.end == 0 {
            return Some(Message::Kernel(kernel));
        }
        let sum = self.waiting.entry(key).or_insert(Sum { n: 0, ns: 0, first: u64::MAX, last: 0 });
        sum.n += 1;
        sum.ns += kernel.end.saturating_sub(kernel.start);
        sum.first = sum.first.min(kernel.start);
        sum.last = sum.last.max(kernel.end);
        None
    }

    /// The sums that wait, emptied.
    pub fn drain(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|((name, dev), sum)| Message::KernelAgg {
                name,
                dev,
                n: sum.n,
                ns: sum.ns,
                first: sum.first,
                last: sum.last,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, start: u64, end: u64) -> Kernel {
        Kernel { name: name.into(), dev: 0, stream: 1, start, end, grid: vec![1], block: vec![], corr: 0 }
    }

    #[test]
    fn below_the_cap_each_kernel_is_a_line_and_beyond_it_a_sum() {
        let mut sums = Sums::default();
        for i in 0..KERNEL_LINE_CAP {
            assert!(sums.take(kernel("a", i, i + 1)).is_some());
        }
        assert!(sums.take(kernel("a", 9_000, 9_010)).is_none());
        assert!(sums.take(kernel("a", 9_020, 9_025)).is_none());
        assert!(sums.take(kernel("b", 1, 2)).is_some(), "another name has its own cap");
        assert!(sums.take(kernel("a", 9_030, 0)).is_some(), "an unfinished kernel is never summed");
        let expect = Message::KernelAgg { name: "a".into(), dev: 0, n: 2, ns: 15, first: 9_000, last: 9_025 };
        assert_eq!(sums.drain(), vec![expect]);
        assert_eq!(sums.drain(), vec![]);
    }
}

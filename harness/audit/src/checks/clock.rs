//! Times: everything happened inside what it belongs to.

use super::Sink;
use crate::load::Bundle;
use runproof_records::record::Instant;
use runproof_records::verdict::PlacementOutcome;
use runproof_records::wire::Message;

/// Whether the moments follow each other on both clocks.
fn ordered(moments: &[Instant]) -> bool {
    moments.windows(2).all(|w| w[0].utc <= w[1].utc && w[0].mono <= w[1].mono)
}

pub(super) fn window(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        if !ordered(&[b.run.started, r.started, r.ended]) {
            sink.record(line, "the attempt began before the run or ended before it began".into());
        }
        if b.run.end.as_ref().is_some_and(|end| !ordered(&[r.ended, end.at])) {
            sink.record(line, "the attempt ended after the run".into());
        }
        for c in &r.commands {
            if !ordered(&[r.started, c.started, c.ended, r.ended]) {
                sink.record(line, format!("command {} is not inside its attempt", c.index));
            }
        }
    }
}

pub(super) fn probe_window(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        for entry in r.placement.iter().flat_map(|p| &p.commands) {
            let Some(command) = r.commands.iter().find(|c| c.index == entry.command) else {
                sink.record(line, format!("placement is of a command {} that is not there", entry.command));
                continue;
            };
            if !matches!(entry.outcome, PlacementOutcome::Placed | PlacementOutcome::PlacedSoftware) {
                continue; // Work outside the window may be why.
            }
            let raw = b.raw.get(&entry.raw).map_or(&[][..], Vec::as_slice);
            for (i, stamped) in raw.iter().enumerate() {
                let counts = entry.processes.iter().any(|p| p.conn == stamped.conn && p.accepted);
                let Some(l) = stamped.line.as_ref().filter(|_| counts) else { continue };
                let span = match &l.msg {
                    Message::Kernel(k) => (k.start, k.end),
                    Message::KernelAgg { first, last, .. } => (*first, *last),
                    Message::Memcpy { start, end, .. } | Message::PeerCopy { start, end, .. } => {
                        (*start, *end)
                    }
                    _ => continue,
                };
                // CUPTI gives a kernel that was cut off neither a start nor an end: nothing is claimed by it.
                if span == (0, 0) {
                    continue;
                }
                // 0 is an end that never came.
                let inside = span.0 >= command.started.utc && span.1 <= command.ended.utc;
                let arrived = stamped.arr >= command.started.utc;
                if !inside || !arrived {
                    sink.at(
                        &entry.raw,
                        Some(i + 1),
                        format!("this was not while command {} ran", command.index),
                    );
                }
            }
        }
    }
}

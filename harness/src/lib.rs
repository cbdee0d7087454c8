//! runproof: a test harness that proves where a test ran.

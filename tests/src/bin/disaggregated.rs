//! `disaggregated --device host|cuda`: prefill on one device, decoding on another, compared with FP64.

use runproof_tests::{disaggregated, operator};

fn main() -> std::process::ExitCode {
    let subject = disaggregated::subject();
    operator::run(&subject, |arguments| disaggregated::on_two(&subject, arguments))
}

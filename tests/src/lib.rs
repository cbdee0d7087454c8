//! What the test programs share: operators with a host path, device paths and an FP64 oracle.
//!
//! The programs are the subjects of the suites beside them. They link nothing of the harness but the wire
//! types (which the forging liars need), and nobody's OpenCL or CUDA: each is opened when it is asked for.

pub mod arguments;
pub mod attention;
pub mod device;
pub mod disaggregated;
pub mod elementwise;
pub mod engine;
pub mod interpreter;
pub mod matmul;
pub mod operator;
pub mod rope;
pub mod rows;
pub mod sys;

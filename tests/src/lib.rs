//! What the test programs share: operators with a host path, an OpenCL path and an FP64 oracle.
//!
//! The programs are the subjects of the suites beside them. They link nothing of the harness but the wire
//! types (which the forging liars need), and nobody's OpenCL: the loader is opened when it is asked for.

pub mod arguments;
pub mod attention;
pub mod matmul;
pub mod operator;
pub mod rope;
pub mod sys;

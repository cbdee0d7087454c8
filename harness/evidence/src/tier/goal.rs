//! The tier that a test has to reach on a target.

use runproof_records::record::Target;
use runproof_records::verdict::Tier;

/// What the goal depends on.
#[derive(Clone, Copy, Debug)]
pub struct GoalInputs<'a> {
    /// Whether the test has an `EXEC_RUN`.
    pub executes: bool,
    /// Where it is to run.
    pub target: &'a Target,
    /// Whether the *fleet* declares the device as software. What the device says about itself does not count:
    /// a software device that nobody declared as one has goal T2 and fails.
    pub declared_software: bool,
    /// Whether the test names `PEERS`.
    pub peers: bool,
}

/// The goal, as the tiers document fixes it.
pub fn goal(inputs: &GoalInputs<'_>) -> Tier {
    if !inputs.executes {
        return Tier::T0;
    }
    if inputs.peers {
        return Tier::T2x;
    }
    match inputs.target {
        Target::Host | Target::Shim => Tier::T1,
        Target::Device { .. } if inputs.declared_software => Tier::T1,
        Target::Device { .. } => Tier::T2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals() {
        let device = Target::Device { id: "h200".into() };
        for (executes, target, declared_software, peers, expect) in [
            (false, &device, false, true, Tier::T0),
            (true, &Target::Host, false, false, Tier::T1),
            (true, &Target::Shim, false, false, Tier::T1),
            (true, &device, true, false, Tier::T1),
            (true, &device, false, false, Tier::T2),
            (true, &Target::Host, false, true, Tier::T2x),
        ] {
            let got = goal(&GoalInputs { executes, target, declared_software, peers });
            assert_eq!(got, expect, "{executes} {target:?} {declared_software} {peers}");
        }
    }
}

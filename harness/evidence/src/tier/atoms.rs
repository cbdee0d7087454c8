//! The atoms of the tier rule, derived from a record. Each function implements the `holds` text of its atom in
//! the published file and says in one line why it does not hold.

use super::Rule;
use runproof_records::record::{
    Check, Command, CommandPlacement, CommandRole, Condition, Device, Exit, HiddenControl, PlacedLine,
    Placement, Record, Target,
};
use runproof_records::verdict::{Fact, Grade, PlacementOutcome};

type Held = Result<(), String>;

/// Every atom that [`View::check`] knows.
pub(super) const NAMES: &[&str] = &[
    "schema",
    "reached",
    "compiled",
    "run_part",
    "executed",
    "exit",
    "readback",
    "oracle",
    "on_device",
    "hardware",
    "as_declared",
    "identity",
    "untainted",
    "native",
    "observed",
    "placement",
    "processes",
    "window",
    "placed_lines",
    "records_grade",
    "device_work",
    "witness",
    "conclusive",
    "no_fallback",
    "control",
    "two_machines",
];

/// A record beside the rule's tables.
pub(super) struct View<'a> {
    record: &'a Record,
    rule: &'a Rule,
}

impl<'a> View<'a> {
    pub(super) fn new(record: &'a Record, rule: &'a Rule) -> Self {
        Self { record, rule }
    }

    /// Whether the atom holds; an unknown one never does.
    pub(super) fn check(&self, atom: &str) -> Held {
        match atom {
            "schema" => self.schema(),
            "reached" => self.reached(),
            "compiled" => need(self.commands(CommandRole::Run).next().is_some(), || "no RUN command".into()),
            "run_part" => self.run_part(),
            "executed" => self.executed(),
            "exit" => self.exit(),
            "readback" => fact(self.record.verdict.facts.readback, "readback"),
            "oracle" => self.oracle(),
            "on_device" => self.on_device(),
            "hardware" => self.hardware(),
            "as_declared" => self.as_declared(),
            "identity" => self.identity(),
            "untainted" => self.untainted(),
            "native" => need(self.record.host.emulation.is_empty(), || {
                format!("the host is emulated: {}", self.record.host.emulation.join(", "))
            }),
            "observed" => self.observed(),
            "placement" => self.placement(),
            "processes" => self.processes(),
            "window" => self.window(),
            "placed_lines" => self.placed_lines(),
            "records_grade" => self.records_grade(),
            "device_work" => self.device_work(),
            "witness" => self.witness(),
            "conclusive" => self.conclusive(),
            "no_fallback" => self.no_fallback(),
            "control" => self.control(),
            "two_machines" => Err(format!("record schema {} holds no participants", self.record.schema)),
            other => Err(format!("the rule names an atom `{other}` that this version does not know")),
        }
    }

    /// The weakest grade among the lines that a T2 stands on.
    pub(super) fn weakest_grade(&self) -> Option<Grade> {
        self.applying().filter(|(_, line)| earns(line)).filter_map(|(_, line)| line.grade).min()
    }

    /// Whether there was a negative control and it held.
    pub(super) fn control_held(&self) -> bool {
        self.hidden_control().is_some() && self.control().is_ok()
    }

    fn commands(&self, role: CommandRole) -> impl Iterator<Item = &'a Command> + use<'a> {
        self.record.commands.iter().filter(move |c| c.role == role)
    }

    fn declared(&self, keyword: &str) -> usize {
        let counts = &self.record.declaration.directives;
        counts.iter().filter(|(k, _)| base(k) == keyword).map(|(_, n)| *n as usize).sum()
    }

    fn device(&self) -> Result<&'a Device, String> {
        self.record.device.as_ref().ok_or_else(|| "the record has no device".into())
    }

    fn seen(&self) -> Result<&'a Placement, String> {
        self.record.placement.as_ref().ok_or_else(|| "no probe was armed".into())
    }

    fn hidden_control(&self) -> Option<&'a HiddenControl> {
        self.record.placement.as_ref().and_then(|p| p.control.as_ref())
    }

    /// Entries of Exec commands.
    fn entries(&self) -> impl Iterator<Item = &'a CommandPlacement> + use<'a> {
        let record = self.record;
        record.placement.iter().flat_map(|p| &p.commands).filter(move |entry| {
            record.commands.iter().any(|c| c.index == entry.command && c.role == CommandRole::Exec)
        })
    }

    fn bearing(&self) -> impl Iterator<Item = &'a CommandPlacement> + use<'a> {
        self.entries().filter(|entry| entry.placed.iter().any(|line| line.applies))
    }

    fn applying(&self) -> impl Iterator<Item = (&'a CommandPlacement, &'a PlacedLine)> + use<'a> {
        self.entries().flat_map(|e| e.placed.iter().map(move |l| (e, l))).filter(|(_, l)| l.applies)
    }

    fn is_work(&self, line: &PlacedLine) -> bool {
        self.rule.work_records.contains(&line.pattern.record) && line.matched > 0
    }

    fn schema(&self) -> Held {
        need(self.record.schema.starts_with(&self.rule.record_schema), || {
            format!("schema `{}` is not `{}x`", self.record.schema, self.rule.record_schema)
        })
    }

    fn reached(&self) -> Held {
        let ended =
            |c: &&Command| matches!(c.role, CommandRole::Run | CommandRole::Exec) && by_itself(&c.exit);
        need(self.record.commands.iter().any(|c| ended(&c)), || "no command ran to its end".into())
    }

    fn run_part(&self) -> Held {
        self.enough(CommandRole::Run, "RUN")?;
        for command in self.commands(CommandRole::Run) {
            ended_as_asked(command)?;
        }
        let compiled = |c: &&Check| {
            let keyword = base(&c.keyword);
            c.executed > 0
                && (c.keyword == "EXPECT(refused)" || !(keyword == "EXPECT" || keyword == "CONTROL_RUN"))
        };
        match self.record.result.checks.iter().filter(compiled).find(|c| !c.held) {
            Some(check) => Err(format!("line {}: {} did not hold", check.line, check.keyword)),
            None => Ok(()),
        }
    }

    fn enough(&self, role: CommandRole, keyword: &str) -> Held {
        let (have, want) = (self.commands(role).count(), self.declared(keyword));
        need(have >= want, || format!("the record has {have} of {want} {keyword} commands"))
    }

    fn executed(&self) -> Held {
        self.enough(CommandRole::Exec, "EXEC_RUN")?;
        need(self.commands(CommandRole::Exec).next().is_some(), || {
            "nothing was executed: no EXEC_RUN".into()
        })?;
        match self.commands(CommandRole::Exec).find(|c| c.stages.is_empty() || !by_itself(&c.exit)) {
            Some(c) => Err(format!("line {}: EXEC_RUN did not run to its end: {}", c.line, how(&c.exit))),
            None => Ok(()),
        }
    }

    fn exit(&self) -> Held {
        fact(self.record.verdict.facts.exit, "exit")?;
        self.commands(CommandRole::Exec).try_for_each(ended_as_asked)
    }

    fn oracle(&self) -> Held {
        fact(self.record.verdict.facts.oracle, "oracle")?;
        let checks = &self.record.result.checks;
        need(!checks.is_empty(), || "nothing was compared".into())?;
        for keyword in ["EXPECT", "CONTROL_RUN"] {
            let of: Vec<_> = checks.iter().filter(|c| base(&c.keyword) == keyword).collect();
            let want = self.declared(keyword);
            need(of.len() >= want, || format!("{} of {want} {keyword} lines were checked", of.len()))?;
            if let Some(c) = of.iter().find(|c| c.executed == 0 || !c.held) {
                return Err(format!("line {}: {} did not hold", c.line, c.keyword));
            }
        }
        match &self.record.result.numeric {
            Some(n) if n.over > 0 || n.nan > 0 => Err(format!(
                "{} of {} numbers outside their tolerance, {} not a number",
                n.over, n.elements, n.nan
            )),
            _ => Ok(()),
        }
    }

    fn on_device(&self) -> Held {
        let Target::Device { id } = &self.record.key.target else {
            return Err("it ran on the host: no device was asked for".into());
        };
        let device = self.device()?;
        need(&device.id == id, || format!("the device of the record is `{}`, not `{id}`", device.id))
    }

    fn hardware(&self) -> Held {
        let device = self.device()?;
        need(!device.software && self.rule.hardware_classes.contains(&device.class), || {
            format!("`{}` ({}) computes on a CPU or is a simulation", device.name, device.class)
        })
    }

    fn as_declared(&self) -> Held {
        let device = self.device()?;
        need(device.declared, || format!("`{}` is not declared in the fleet file", device.id))?;
        need(device.agreement.iter().any(|a| a.fact == "capability"), || {
            "the declared capability was not compared with the device".into()
        })?;
        match device.agreement.iter().find(|a| !a.agrees) {
            Some(a) => Err(format!("{}: declared {}, the device says {}", a.fact, a.declared, a.observed)),
            None => Ok(()),
        }
    }

    fn identity(&self) -> Held {
        let id = &self.device()?.identity;
        need(id.uuid.is_some() || id.bus.is_some() || id.platform.is_some(), || {
            "the device has no identity".into()
        })
    }

    fn untainted(&self) -> Held {
        let overrides = &self.device()?.undeclared_overrides;
        need(overrides.is_empty(), || format!("undeclared overrides are set: {}", overrides.join(", ")))
    }

    fn observed(&self) -> Held {
        let placement = self.seen()?;
        need(!placement.probes.is_empty(), || "no probe was armed".into())?;
        for command in self.commands(CommandRole::Exec) {
            let mut of = placement.commands.iter().filter(|e| e.command == command.index);
            let unique = of.next().is_some_and(|entry| entry.lines > 0) && of.next().is_none();
            need(unique, || {
                format!("unobserved: no probe reported on the EXEC_RUN of line {}", command.line)
            })?;
        }
        Ok(())
    }

    fn placement(&self) -> Held {
        let placement = self.seen()?;
        let says = |outcome: PlacementOutcome, why: &str| {
            need(outcome == PlacementOutcome::Placed, || {
                if why.is_empty() { outcome.to_string() } else { format!("{outcome}: {why}") }
            })
        };
        says(placement.outcome, &placement.reason)?;
        self.bearing().try_for_each(|entry| says(entry.outcome, &entry.reason))?;
        fact(self.record.verdict.facts.placement, "placement")
    }

    fn processes(&self) -> Held {
        self.seen()?;
        match self.bearing().find(|e| !e.processes.iter().any(|p| p.accepted && p.descends)) {
            Some(e) => Err(format!("no process of command {} was accepted by the harness", e.command)),
            None => Ok(()),
        }
    }

    fn window(&self) -> Held {
        let record = self.record;
        for c in self.commands(CommandRole::Exec) {
            let nonce = c.nonce.len() == 32 && c.nonce.bytes().all(|b| b.is_ascii_hexdigit());
            need(nonce, || format!("command {} has no nonce", c.index))?;
            let ordered = [
                [record.started.utc, c.started.utc, c.ended.utc, record.ended.utc],
                [record.started.mono, c.started.mono, c.ended.mono, record.ended.mono],
            ];
            need(ordered.iter().all(|t| t.is_sorted()), || {
                format!("command {} is not inside its attempt in time", c.index)
            })?;
        }
        Ok(())
    }

    fn placed_lines(&self) -> Held {
        let have: usize = self.entries().map(|e| e.placed.len()).sum();
        let want = self.declared("PLACED");
        need(have >= want, || format!("the record has {have} of {want} PLACED lines"))?;
        for (_, line) in self.applying() {
            need(line.met && counts(&line.pattern.count, line.matched), || {
                format!("line {}: PLACED: {} is not met by {} records", line.line, line.text, line.matched)
            })?;
        }
        need(self.applying().any(|(_, line)| self.is_work(line)), || {
            "no PLACED line names work that was seen on the device".into()
        })
    }

    fn records_grade(&self) -> Held {
        let best = self.seen()?.probes.iter().map(|p| p.grade).max();
        for (_, line) in self.applying().filter(|(_, line)| earns(line)) {
            need(line.grade >= Some(Grade::Event) && line.grade <= best, || {
                let grade = line.grade.map_or("no grade", Grade::as_str);
                format!("line {}: records of {grade} do not prove a placement", line.line)
            })?;
        }
        Ok(())
    }

    fn device_work(&self) -> Held {
        let device = self.device()?;
        for (entry, line) in self.applying().filter(|(_, l)| self.is_work(l) && !by_position(l)) {
            let kind = &line.pattern.record;
            let on =
                entry.work.iter().any(|w| &w.record == kind && w.count > 0 && is_on(device, kind, &w.device));
            need(on, || format!("no {kind} of this run was recorded on {}", identity_text(device)))?;
        }
        let any = self.entries().flat_map(|e| &e.work).any(|w| {
            self.rule.work_records.contains(&w.record) && w.count > 0 && is_on(device, &w.record, &w.device)
        });
        need(any, || format!("no work of this run was recorded on {}", identity_text(device)))
    }

    fn witness(&self) -> Held {
        self.seen()?;
        let kind = &self.device()?.kind;
        let without = !self.rule.witnessed_kinds.contains(kind);
        match self.bearing().find(|e| e.witness != "agrees" && !(without && e.witness == "none")) {
            Some(e) => {
                Err(format!("the outer witness of `{kind}` says `{}` on command {}", e.witness, e.command))
            }
            None => Ok(()),
        }
    }

    fn conclusive(&self) -> Held {
        self.seen()?;
        match self.entries().flat_map(|e| &e.inconclusive).next() {
            Some(sign) => Err(format!("inconclusive: {sign}")),
            None => Ok(()),
        }
    }

    fn no_fallback(&self) -> Held {
        self.seen()?;
        let device = self.device()?;
        if self.entries().flat_map(|e| &e.placed).any(by_position) {
            return Ok(());
        }
        let work = self.entries().flat_map(|e| &e.work).filter(|w| w.record == "kernel");
        match work.into_iter().find(|w| !is_on(device, "kernel", &w.device)) {
            Some(w) => {
                Err(format!("kernel `{}` ran on {}, not on {}", w.name, w.device, identity_text(device)))
            }
            None => Ok(()),
        }
    }

    fn control(&self) -> Held {
        let ran = self.commands(CommandRole::HiddenDevice).next().is_some();
        let Some(control) = self.hidden_control() else {
            return need(!ran, || "the run with the device hidden has no result".into());
        };
        let reached = |index: &u32| {
            self.commands(CommandRole::HiddenDevice).any(|c| c.index == *index && c.exit != Exit::NotReached)
        };
        let held = control.held && control.records == 0 && !control.accepted;
        need(held && !control.commands.is_empty() && control.commands.iter().all(reached), || {
            format!(
                "has a CPU fallback: with the device hidden there were {} placement records and the output was {}",
                control.records,
                if control.accepted { "accepted" } else { "rejected" }
            )
        })
    }
}

fn need(held: bool, why: impl FnOnce() -> String) -> Held {
    if held { Ok(()) } else { Err(why()) }
}

fn fact(fact: Fact, name: &str) -> Held {
    need(fact == Fact::Held, || format!("the fact `{name}` is {fact}"))
}

/// `EXPECT(near)` and `EXPECT` are one keyword.
fn base(keyword: &str) -> &str {
    keyword.split('(').next().unwrap_or(keyword)
}

fn by_itself(exit: &Exit) -> bool {
    matches!(exit, Exit::Code { .. } | Exit::Signal { .. })
}

fn how(exit: &Exit) -> String {
    match exit {
        Exit::Code { code } => format!("exit {code}"),
        Exit::Signal { name, .. } => format!("signal {name}"),
        Exit::NotStarted { why } => format!("not started: {why}"),
        Exit::TimedOut { limit_ms } => format!("timed out after {limit_ms} ms"),
        Exit::Interrupted => "interrupted".into(),
        Exit::NotReached => "not reached".into(),
    }
}

fn ended_as_asked(c: &Command) -> Held {
    let asked = match (&c.exit, c.expected.split_once(' ')) {
        (Exit::Code { code }, Some(("exit", "nonzero"))) => *code != 0,
        (Exit::Code { code }, Some(("exit", n))) => n == code.to_string(),
        (Exit::Signal { name, .. }, Some(("signal", n))) => n == name,
        _ => false,
    };
    need(asked && c.exit_held, || format!("line {}: expected {}, got {}", c.line, c.expected, how(&c.exit)))
}

/// Whether the line's records count towards the grade: a plan is no event.
fn earns(line: &PlacedLine) -> bool {
    line.matched > 0 && line.pattern.record != "plan"
}

fn counts(condition: &Condition, n: u64) -> bool {
    let Ok(value) = condition.value.parse::<u64>() else { return false };
    match condition.op.as_str() {
        "=" => n == value,
        ">=" => n >= value,
        "<=" => n <= value,
        ">" => n > value,
        "<" => n < value,
        _ => false,
    }
}

fn by_position(line: &PlacedLine) -> bool {
    line.pattern.fields.iter().any(|f| matches!(f.field.as_str(), "device" | "from" | "to"))
}

fn is_on(device: &Device, record: &str, place: &str) -> bool {
    let id = &device.identity;
    let same = match (&id.uuid, &id.bus, &id.platform) {
        (Some(uuid), _, _) => uuid == place,
        (None, Some(bus), _) => bus == place,
        (None, None, Some(platform)) => place == format!("{platform}/{}", device.name),
        (None, None, None) => false,
    };
    same || (record == "energy_delta" && place == device.kind)
}

fn identity_text(device: &Device) -> &str {
    device.identity.uuid.as_deref().or(device.identity.bus.as_deref()).unwrap_or(&device.name)
}

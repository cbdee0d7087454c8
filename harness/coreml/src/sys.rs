//! Core ML itself. The only unsafe code of this crate: every method of the bindings is unsafe, since Objective-C
//! promises nothing to a compiler. What makes the calls sound is the same for all: each receiver is a retained object of
//! the class that the bindings name, each argument lives through the call, and the methods named are documented to be
//! callable from any thread.

use super::{Planned, Units};
use block2::RcBlock;
use objc2::AllocAnyThread as _;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_core_ml::{
    MLCPUComputeDevice, MLComputeDeviceProtocol, MLComputePlan, MLComputeUnits, MLDictionaryFeatureProvider,
    MLFeatureProvider as _, MLFeatureValue, MLGPUComputeDevice, MLModel, MLModelConfiguration,
    MLModelStructureProgramBlock, MLMultiArray, MLMultiArrayDataType, MLNeuralEngineComputeDevice,
};
use objc2_foundation::{NSArray, NSDictionary, NSError, NSFileManager, NSNumber, NSString, NSURL, ns_string};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long Core ML may take for a plan.
const PLAN_LIMIT: Duration = Duration::from_secs(120);

type Unit = ProtocolObject<dyn MLComputeDeviceProtocol>;

/// Cores of the Neural Engine; `None` when this machine has none. Needs macOS 14.
pub fn engine_cores() -> Option<u64> {
    // The class method and not the function of the same meaning: a program that is linked against that one does not start
    // on a system without it.
    // SAFETY: see the head of this file.
    let units = unsafe { MLModel::availableComputeDevices() };
    units.iter().find_map(|unit| {
        let any: &AnyObject = (*unit).as_ref();
        let engine = any.downcast_ref::<MLNeuralEngineComputeDevice>()?;
        // SAFETY: see the head of this file.
        u64::try_from(unsafe { engine.totalCoreCount() }).ok().filter(|cores| *cores > 0)
    })
}

/// Compiles a model package, and moves what comes of it to `into`.
///
/// # Errors
/// What Core ML says, or why it cannot be moved.
pub fn compile(package: &Path, into: &Path) -> Result<(), String> {
    #[expect(
        deprecated,
        reason = "the other form takes a completion handler, and there is nothing to do meanwhile"
    )]
    // SAFETY: see the head of this file.
    let compiled = unsafe { MLModel::compileModelAtURL_error(&url(package)) }
        .map_err(|error| said("the model does not compile", &error))?;
    // It lies in a temporary folder, perhaps of another volume, across which a plain rename does not work.
    NSFileManager::defaultManager()
        .moveItemAtURL_toURL_error(&compiled, &url(into))
        .map_err(|error| said("the compiled model cannot be moved to its place", &error))
}

/// What Core ML anticipates for each operation of the compiled model at `path`.
///
/// # Errors
/// What Core ML says; a model that is no ML program has no operations to plan.
pub fn plan(path: &Path, units: Units) -> Result<Vec<Planned>, String> {
    let (done, answer) = channel();
    let handler = RcBlock::new(move |plan: *mut MLComputePlan, error: *mut NSError| {
        // SAFETY: Core ML hands over a valid object or null, and keeps it until the handler returns.
        let (plan, error) = unsafe { (Retained::retain(plan), error.as_ref()) };
        let why = || error.map_or_else(|| "no plan and no error".to_owned(), |e| said("no plan", e));
        // The other end is gone only when it waited for too long.
        let _ = done.send(plan.ok_or_else(why).map(Handed));
    });
    // SAFETY: see the head of this file; the block is copied by Core ML and owns what it captures.
    unsafe {
        MLComputePlan::loadContentsOfURL_configuration_completionHandler(
            &url(path),
            &configuration(units),
            &handler,
        );
    }
    let late = || format!("no plan within {} s", PLAN_LIMIT.as_secs());
    let Handed(plan) = answer.recv_timeout(PLAN_LIMIT).map_err(|_| late())??;
    // SAFETY: see the head of this file.
    let program = unsafe { plan.modelStructure().program() }
        .ok_or("the model is no ML program, so there are no operations to plan")?;
    // SAFETY: see the head of this file.
    let functions = unsafe { program.functions() };
    let main = functions.objectForKey(ns_string!("main")).ok_or("the model has no function `main`")?;
    let mut rows = Vec::new();
    // SAFETY: see the head of this file.
    let block = unsafe { main.block() };
    operations(&plan, &block, &mut rows);
    Ok(rows)
}

/// A plan on its way from Core ML's thread to ours.
struct Handed(Retained<MLComputePlan>);

// SAFETY: the plan is immutable once it was handed over, and the handler keeps no reference to it.
unsafe impl Send for Handed {}

/// The operations of a block and of the blocks inside them.
fn operations(plan: &MLComputePlan, block: &MLModelStructureProgramBlock, rows: &mut Vec<Planned>) {
    // SAFETY: see the head of this file.
    for operation in &unsafe { block.operations() } {
        // SAFETY: see the head of this file; the operation is of this plan's model.
        let (name, usage, cost, inner) = unsafe {
            (
                operation.operatorName(),
                plan.computeDeviceUsageForMLProgramOperation(&operation),
                plan.estimatedCostOfMLProgramOperation(&operation),
                operation.blocks(),
            )
        };
        let (preferred, supported) = usage.map_or(("none", Vec::new()), |usage| {
            // SAFETY: see the head of this file.
            let (first, all) = unsafe { (usage.preferredComputeDevice(), usage.supportedComputeDevices()) };
            (word(&first), all.iter().map(|unit| word(&unit)).collect())
        });
        // SAFETY: see the head of this file.
        let weight = cost.map_or(0.0, |cost| unsafe { cost.weight() });
        rows.push(Planned { operator: name.to_string(), preferred, supported, weight });
        for block in &inner {
            operations(plan, &block, rows);
        }
    }
}

fn word(unit: &Unit) -> &'static str {
    let any: &AnyObject = unit.as_ref();
    if any.downcast_ref::<MLNeuralEngineComputeDevice>().is_some() {
        "ane"
    } else if any.downcast_ref::<MLGPUComputeDevice>().is_some() {
        "gpu"
    } else if any.downcast_ref::<MLCPUComputeDevice>().is_some() {
        "cpu"
    } else {
        "unknown"
    }
}

/// A loaded model with arrays for inputs.
pub struct Model(Retained<MLModel>);

/// An input or output: name and numbers, in C order.
pub type Named = (String, Vec<f32>);

impl Model {
    /// Loads the compiled model at `path`.
    ///
    /// # Errors
    /// What Core ML says.
    pub fn load(path: &Path, units: Units) -> Result<Self, String> {
        // SAFETY: see the head of this file.
        let model =
            unsafe { MLModel::modelWithContentsOfURL_configuration_error(&url(path), &configuration(units)) };
        model.map(Self).map_err(|error| said("the model cannot be loaded", &error))
    }

    /// Names of the inputs, each with how many numbers it takes.
    ///
    /// # Errors
    /// An input that is no array.
    pub fn inputs(&self) -> Result<Vec<(String, usize)>, String> {
        let shapes = self.shapes()?;
        let count = |shape: &NSArray<NSNumber>| shape.iter().map(|n| n.as_usize()).product();
        Ok(shapes.iter().map(|(name, shape, _)| (name.to_string(), count(shape))).collect())
    }

    #[expect(clippy::type_complexity, reason = "one private answer, taken apart at once")]
    fn shapes(
        &self,
    ) -> Result<Vec<(Retained<NSString>, Retained<NSArray<NSNumber>>, MLMultiArrayDataType)>, String> {
        // SAFETY: see the head of this file.
        let described = unsafe { self.0.modelDescription().inputDescriptionsByName() };
        let mut shapes = Vec::new();
        for name in &described.allKeys() {
            // SAFETY: see the head of this file.
            let constraint =
                described.objectForKey(&name).and_then(|input| unsafe { input.multiArrayConstraint() });
            let constraint = constraint.ok_or_else(|| format!("input `{name}` is no array"))?;
            // SAFETY: see the head of this file.
            let (shape, kind) = unsafe { (constraint.shape(), constraint.dataType()) };
            shapes.push((name, shape, kind));
        }
        Ok(shapes)
    }

    /// Inputs that can be predicted from, filled with `numbers` by name.
    ///
    /// # Errors
    /// Numbers that are missing or too few, or what Core ML says.
    pub fn prepare(&self, numbers: &[Named]) -> Result<Prepared, String> {
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (name, shape, kind) in self.shapes()? {
            let given = numbers.iter().find(|(given, _)| *given == name.to_string());
            let (_, given) = given.ok_or_else(|| format!("nothing is given for input `{name}`"))?;
            // SAFETY: see the head of this file.
            let array =
                unsafe { MLMultiArray::initWithShape_dataType_error(MLMultiArray::alloc(), &shape, kind) }
                    .map_err(|error| said("no array", &error))?;
            // SAFETY: see the head of this file.
            let count = usize::try_from(unsafe { array.count() }).unwrap_or(0);
            if given.len() != count {
                return Err(format!("input `{name}` takes {count} numbers, {} are given", given.len()));
            }
            autoreleasepool(|_| {
                for (at, number) in (0..).zip(given) {
                    // SAFETY: see the head of this file; `at` is below the array's count.
                    unsafe { array.setObject_atIndexedSubscript(&NSNumber::new_f32(*number), at) };
                }
            });
            // SAFETY: see the head of this file.
            values.push(unsafe { MLFeatureValue::featureValueWithMultiArray(&array) });
            names.push(name);
        }
        let names: Vec<&NSString> = names.iter().map(|name| &**name).collect();
        let values: Vec<&AnyObject> = values.iter().map(AsRef::as_ref).collect();
        let dictionary = NSDictionary::from_slices(&names, &values);
        // SAFETY: see the head of this file; the values are feature values, as the method asks.
        let features = unsafe {
            MLDictionaryFeatureProvider::initWithDictionary_error(
                MLDictionaryFeatureProvider::alloc(),
                &dictionary,
            )
        };
        features.map(Prepared).map_err(|error| said("the inputs are refused", &error))
    }

    /// Runs the model once; the numbers of its output `name`.
    ///
    /// # Errors
    /// What Core ML says, or that there is no such output.
    pub fn predict(&self, inputs: &Prepared, name: &str) -> Result<Vec<f32>, String> {
        let inputs = ProtocolObject::from_ref(&*inputs.0);
        // SAFETY: see the head of this file.
        let outputs = unsafe { self.0.predictionFromFeatures_error(inputs) }
            .map_err(|error| said("the model does not run", &error))?;
        // SAFETY: see the head of this file.
        let array = unsafe {
            outputs.featureValueForName(&NSString::from_str(name)).and_then(|value| value.multiArrayValue())
        };
        let array = array.ok_or_else(|| format!("the model has no array `{name}` for output"))?;
        // SAFETY: see the head of this file.
        let count = unsafe { array.count() };
        Ok(autoreleasepool(|_| {
            // SAFETY: see the head of this file; each index is below the array's count.
            (0..count).map(|at| unsafe { array.objectAtIndexedSubscript(at) }.as_f32()).collect()
        }))
    }

    /// Runs the model, once at least, until `time` is over, and drops what comes out; how often it ran.
    ///
    /// # Errors
    /// What Core ML says.
    pub fn repeat(&self, inputs: &Prepared, time: Duration) -> Result<u64, String> {
        let inputs = ProtocolObject::from_ref(&*inputs.0);
        let begun = std::time::Instant::now();
        let mut runs = 0;
        loop {
            autoreleasepool(|_| {
                // SAFETY: see the head of this file.
                unsafe { self.0.predictionFromFeatures_error(inputs) }
                    .map_err(|error| said("the model does not run", &error))
                    .map(drop)
            })?;
            runs += 1;
            if begun.elapsed() >= time {
                return Ok(runs);
            }
        }
    }
}

/// Inputs of a model.
pub struct Prepared(Retained<MLDictionaryFeatureProvider>);

fn configuration(units: Units) -> Retained<MLModelConfiguration> {
    // SAFETY: see the head of this file.
    let configuration = unsafe { MLModelConfiguration::new() };
    let units = match units {
        Units::Cpu => MLComputeUnits::CPUOnly,
        Units::CpuAndEngine => MLComputeUnits::CPUAndNeuralEngine,
    };
    // SAFETY: see the head of this file.
    unsafe { configuration.setComputeUnits(units) };
    configuration
}

fn url(path: &Path) -> Retained<NSURL> {
    NSURL::fileURLWithPath(&NSString::from_str(&path.to_string_lossy()))
}

fn said(what: &str, error: &NSError) -> String {
    format!("{what}: {}", error.localizedDescription())
}

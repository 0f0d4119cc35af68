//! How is a graph run that is not a plain MLP?
//!
//! By `tract`, a general ONNX runtime, behind the same [`QFunction`] as every policy. Unlike our own
//! forward pass it allocates at each step; it is here so that an unusual policy can be shielded at
//! all.

use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::DimLike;
use tract_onnx::tract_hir::infer::Factoid;

use crate::q_function::{ActError, QFunction, check_finite, check_length};

/// A graph from one observation to Q-values.
pub(super) struct GraphPolicy {
    plan: Arc<TypedRunnableModel>,
    /// The input's shape, a batch of one.
    shape: Vec<usize>,
    q_values: Vec<f32>,
}

impl GraphPolicy {
    /// Prepares a graph, and runs it once to learn how many actions it values.
    pub(super) fn new(model: &[u8]) -> Result<GraphPolicy, String> {
        GraphPolicy::prepare(model).map_err(|error| format!("{error:#}"))
    }

    fn prepare(mut model: &[u8]) -> TractResult<GraphPolicy> {
        let model = onnx().model_for_read(&mut model)?;
        // A dimension that is not a number is the size of the batch, and one observation is one.
        let dims = model.input_fact(0)?.shape.dims().map(Factoid::concretize);
        let sizes = dims.map(|dim| dim.and_then(|dim| dim.to_usize().ok()).unwrap_or(1));
        let shape: Vec<usize> = sizes.collect();
        let model = model.with_input_fact(0, f32::fact(&shape).into())?;
        let plan = model.into_optimized()?.into_runnable()?;
        let mut policy = GraphPolicy { plan, shape, q_values: Vec::new() };
        policy.run(&vec![0.0; policy.observation_len()])?;
        Ok(policy)
    }

    fn run(&mut self, observation: &[f32]) -> TractResult<()> {
        let input = Tensor::from_shape(&self.shape, observation)?;
        let outputs = self.plan.run(tvec!(input.into()))?;
        self.q_values.clear();
        self.q_values.extend(outputs[0].to_plain_array_view::<f32>()?.iter());
        Ok(())
    }
}

impl QFunction for GraphPolicy {
    fn observation_len(&self) -> usize {
        self.shape.iter().product()
    }

    fn actions(&self) -> usize {
        self.q_values.len()
    }

    fn q_values(&mut self, step: u64, observation: &[f32]) -> Result<&[f32], ActError> {
        check_length(step, observation, self.observation_len())?;
        let failed = |error: TractError| ActError::Graph { step, reason: format!("{error:#}") };
        self.run(observation).map_err(failed)?;
        check_finite(step, &self.q_values)
    }
}

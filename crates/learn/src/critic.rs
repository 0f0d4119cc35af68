//! How likely is an incident, if an action runs now and the least risky one ever after?
//!
//! A [`Critic`] answers for every action at once. What it looks at has two parts: a row of numbers of
//! fixed length, and a *set* of items, each a row of its own (for driving: the ego with its road, and the
//! cars). Each item goes through one small encoder beside the fixed part; the maximum and the sum over
//! items, with the fixed part again, go through a head that has one output per action:
//!
//! ```text
//!   item  ──┐
//!           ├─ encoder ─┐
//!   fixed ──┘           ├─ max, sum ─┐
//!   (each item)  …     ─┘            ├─ head ─ scale ─ risk of each action
//!   fixed ───────────────────────────┘
//! ```
//!
//! The [`scale`] makes probabilities of the head's outputs. Without items it is a plain network on the fixed part, which serves any environment whose observation
//! is a flat vector. Start at [`Critic::risks`]; whole batches and gradients are in [`pass`], what it
//! learns from in [`experience`], how in [`learner`], and the file it travels in, with its card, in [`mod@file`].
//! Several critics of a flat observation, of which the larger risk counts, are an [`ensemble`].
//!
//! **Invariants:** the order of items cannot matter, but for the last bits of a sum (who gives items in an
//! order of their own, as `cpss-risk` does, gets the same bits always); a NaN that goes in comes out as a
//! risk of 1.

pub mod checkpoint;
pub mod ensemble;
pub mod experience;
pub mod file;
pub mod learner;
pub mod pass;
pub mod project;
pub mod scale;
pub mod untried;

use scale::Scale;
use serde::{Deserialize, Serialize};

use crate::generator::Generator;
use crate::kernel::{Apply, Left, Product, Start, padded};
use crate::topology::{Activation, BadTopology, Layer, MAX_UNITS};

/// A critic's sizes, as a person writes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Numbers of the fixed part.
    pub fixed: usize,
    /// Numbers of each item; 0 if there are none.
    pub item: usize,
    /// Units of the encoder's layers; empty if there are no items.
    pub encoder: Vec<usize>,
    /// Units of the head's hidden layers.
    pub head: Vec<usize>,
    /// Number of actions.
    pub actions: usize,
}

/// Sums over items are divided by this, so that they are about as large as maxima.
pub(crate) const SUM_SCALE: f32 = 0.25;

/// Where every risk begins: small, since most are, and learning has to carry each decision's risk back from
/// the incident, not the first guess of everything forward.
const FIRST_LOGIT: f32 = -5.0;

/// A critic: its layers and their parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Critic {
    shape: Shape,
    layers: Layers,
    parameters: Vec<f32>,
    /// The calibration.
    scale: Scale,
}

/// Where the parameters of each layer lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layers {
    /// The encoder's first layer in its two halves: its sums are those of both. The bias is the latter's.
    pub(crate) item_in: Option<(Layer, Layer)>,
    /// The rest of the encoder.
    pub(crate) encoder: Vec<Layer>,
    /// The head; the last layer has no activation.
    pub(crate) head: Vec<Layer>,
    pub(crate) parameters: usize,
}

impl Shape {
    pub(crate) fn layers(&self) -> Result<Layers, BadTopology> {
        let sizes = [self.fixed, self.actions].into_iter().chain(self.head.iter().copied());
        let mut sizes = sizes.chain(self.encoder.iter().copied()).chain([self.item.max(1)]);
        if let Some(units) = sizes.find(|units| !(1..=MAX_UNITS).contains(units)) {
            return Err(BadTopology::Units { layer: 0, units });
        }
        if (self.item == 0) != self.encoder.is_empty() {
            return Err(BadTopology::Chain {
                layer: 0,
                inputs: self.item,
                given: self.encoder.len(),
            });
        }
        let mut end = 0;
        let mut layer = |inputs, outputs, activation| {
            let layer = Layer::at(inputs, outputs, activation, end);
            end = layer.end();
            layer
        };
        let mut pooled = 0;
        let mut item_in = None;
        let mut encoder = Vec::new();
        if let Some((&first, rest)) = self.encoder.split_first() {
            let items = layer(self.item, first, Activation::Relu);
            item_in = Some((items, layer(self.fixed, first, Activation::Relu)));
            pooled = first;
            for &units in rest {
                encoder.push(layer(pooled, units, Activation::Relu));
                pooled = units;
            }
        }
        let mut width = 2 * pooled + self.fixed;
        let mut head = Vec::new();
        for &units in &self.head {
            head.push(layer(width, units, Activation::Relu));
            width = units;
        }
        head.push(layer(width, self.actions, Activation::Identity));
        Ok(Layers { item_in, encoder, head, parameters: end })
    }
}

impl Layers {
    /// All layers, in the order of their parameters.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Layer> {
        let first = self.item_in.iter().flat_map(|(items, fixed)| [items, fixed]);
        first.chain(&self.encoder).chain(&self.head)
    }

    /// Units after the encoder; 0 without one.
    pub(crate) fn pooled(&self) -> usize {
        self.encoder
            .last()
            .or(self.item_in.as_ref().map(|(items, _)| items))
            .map_or(0, |l| l.outputs)
    }
}

impl Critic {
    /// A critic with PyTorch's initial weights, whose risks begin small.
    ///
    /// # Errors
    ///
    /// A shape that makes no network.
    pub fn new(shape: Shape, generator: &mut Generator) -> Result<Critic, BadTopology> {
        let layers = shape.layers()?;
        let mut parameters = vec![0.0; layers.parameters];
        for layer in layers.all() {
            let bound = 1.0 / (layer.inputs as f64).sqrt();
            let mut draw = || ((2.0 * generator.unit() - 1.0) * bound) as f32;
            for row in parameters[layer.weights()].chunks_exact_mut(layer.stride()) {
                row[..layer.inputs].iter_mut().for_each(|weight| *weight = draw());
            }
            parameters[layer.bias()].iter_mut().for_each(|bias| *bias = draw());
        }
        if let Some((items, _)) = &layers.item_in {
            parameters[items.bias()].fill(0.0);
        }
        if let Some(last) = layers.head.last() {
            parameters[last.bias()].fill(FIRST_LOGIT);
        }
        Ok(Critic { shape, layers, parameters, scale: Scale::NONE })
    }

    /// A critic with all parameters zero.
    ///
    /// # Errors
    ///
    /// A shape that makes no network.
    pub fn zeros(shape: Shape) -> Result<Critic, BadTopology> {
        let layers = shape.layers()?;
        let parameters = vec![0.0; layers.parameters];
        Ok(Critic { shape, layers, parameters, scale: Scale::NONE })
    }

    /// Its sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The calibration.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Sets the calibration.
    pub fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
    }

    /// All parameters, padding included.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Makes room for [`Critic::risks`].
    pub fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// Writes the risk of each action, from the fixed part and the items one after the other.
    ///
    /// A number that is not finite, anywhere, makes every risk 1.
    ///
    /// # Panics
    ///
    /// If a slice is not as long as the shape says.
    pub fn risks(&self, fixed: &[f32], items: &[f32], scratch: &mut Scratch, risks: &mut [f64]) {
        assert_eq!(fixed.len(), self.shape.fixed, "length of the fixed part");
        assert_eq!(risks.len(), self.shape.actions, "number of risks");
        if !fixed.iter().chain(items).all(|number| number.is_finite()) {
            risks.fill(1.0);
            return;
        }
        self.encode(fixed, items, scratch);
        let Scratch { input, output, .. } = scratch;
        input.extend_from_slice(fixed);
        for layer in &self.layers.head {
            input.resize(layer.stride(), 0.0);
            output.clear();
            output.resize(layer.outputs, 0.0);
            let weights = &self.parameters[layer.weights()];
            let bias = &self.parameters[layer.bias()];
            Apply { weights, bias, input, out: output }.run();
            layer.activation.apply(output);
            std::mem::swap(input, output);
        }
        self.scaled(input.iter().copied(), risks);
    }

    /// Writes what is known of the items together, their largest and their sum, to where the head reads it; no items
    /// are zeros.
    fn encode(&self, fixed: &[f32], items: &[f32], scratch: &mut Scratch) {
        let Scratch { input, output, fixed_part } = scratch;
        let pooled = self.layers.pooled();
        input.clear();
        input.resize(2 * pooled, 0.0);
        let Some((item_in, fixed_in)) = &self.layers.item_in else { return };
        let count = items.len() / self.shape.item;
        assert_eq!(items.len(), count * self.shape.item, "length of the items");
        if count == 0 {
            return;
        }
        let lanes = padded(count);
        let first = &mut fixed_part.input;
        first.clear();
        first.extend_from_slice(fixed);
        first.resize(fixed_in.stride(), 0.0);
        fixed_part.output.resize(fixed_in.outputs, 0.0);
        Apply {
            weights: &self.parameters[fixed_in.weights()],
            bias: &self.parameters[fixed_in.bias()],
            input: first,
            out: &mut fixed_part.output,
        }
        .run();
        let columns = &mut fixed_part.columns;
        columns.clear();
        columns.resize(self.shape.item * lanes, 0.0);
        for (lane, item) in items.chunks_exact(self.shape.item).enumerate() {
            for (row, &number) in item.iter().enumerate() {
                columns[row * lanes + lane] = number;
            }
        }
        output.clear();
        output.resize(item_in.outputs * lanes, 0.0);
        self.product(item_in, columns, Start::Bias(&fixed_part.output), output, lanes);
        item_in.activation.apply(output);
        for layer in &self.layers.encoder {
            std::mem::swap(columns, output);
            output.resize(layer.outputs * lanes, 0.0);
            let bias = Start::Bias(&self.parameters[layer.bias()]);
            let width = layer.inputs * lanes;
            self.product(
                layer,
                &columns[..width],
                bias,
                &mut output[..layer.outputs * lanes],
                lanes,
            );
            layer.activation.apply(&mut output[..layer.outputs * lanes]);
        }
        let (maxima, sums) = input.split_at_mut(pooled);
        for ((max, sum), row) in maxima.iter_mut().zip(sums).zip(output.chunks_exact(lanes)) {
            let (mut largest, mut total) = (0.0_f32, 0.0_f32);
            for &value in &row[..count] {
                largest = if value > largest { value } else { largest };
                total += value;
            }
            (*max, *sum) = (largest, total * SUM_SCALE);
        }
    }

    /// The same critic with all log-odds measured from `at` and multiplied by `by`.
    pub fn sharpened(&self, at: f32, by: f32) -> Critic {
        let mut critic = self.clone();
        if let Some(last) = self.layers.head.last() {
            let parameters = &mut critic.parameters;
            parameters[last.weights()].iter_mut().for_each(|weight| *weight *= by);
            parameters[last.bias()].iter_mut().for_each(|bias| *bias = by * (*bias - at));
        }
        critic
    }

    /// The same critic that reads more numbers, which come last in the fixed part and in each item: it begins by not
    /// minding them.
    ///
    /// # Errors
    ///
    /// Fewer numbers than it reads, or more than a layer may have.
    pub fn widened(&self, fixed: usize, item: usize) -> Result<Critic, BadTopology> {
        let Shape { fixed: old_fixed, item: old_item, .. } = self.shape;
        if fixed < old_fixed || item < old_item {
            return Err(BadTopology::Chain { layer: 0, inputs: fixed, given: old_fixed });
        }
        let mut critic = Critic::zeros(Shape { fixed, item, ..self.shape.clone() })?;
        critic.scale = self.scale;
        for (old, new) in self.layers.all().zip(critic.layers.all()) {
            let rows = self.parameters[old.weights()].chunks_exact(old.stride());
            let wider = critic.parameters[new.weights()].chunks_exact_mut(new.stride());
            for (row, wider) in rows.zip(wider) {
                wider[..old.inputs].copy_from_slice(&row[..old.inputs]);
            }
            critic.parameters[new.bias()].copy_from_slice(&self.parameters[old.bias()]);
        }
        Ok(critic)
    }

    /// Writes the risk of each action of a scene, from their logits.
    pub fn scaled(&self, logits: impl IntoIterator<Item = f32>, risks: &mut [f64]) {
        for (risk, logit) in risks.iter_mut().zip(logits) {
            *risk = self.scale.risk(logit);
        }
        self.scale.raise(risks);
    }

    fn product(&self, layer: &Layer, right: &[f32], start: Start<'_>, out: &mut [f32], n: usize) {
        Product {
            left: &self.parameters[layer.weights()],
            layout: Left::Rows,
            stride: layer.stride(),
            right,
            start,
            out,
            m: layer.outputs,
            k: layer.inputs,
            n,
        }
        .run();
    }
}

/// The probability of a logit; 1 if it is not a number.
pub fn probability(logit: f32) -> f64 {
    let risk = 1.0 / (1.0 + (-f64::from(logit)).exp());
    if risk.is_finite() { risk } else { 1.0 }
}

/// Room for one scene's way through a critic, used again for each.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    input: Vec<f32>,
    output: Vec<f32>,
    fixed_part: FixedPart,
}

#[derive(Clone, Debug, Default)]
struct FixedPart {
    input: Vec<f32>,
    output: Vec<f32>,
    columns: Vec<f32>,
}

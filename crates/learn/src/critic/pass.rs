//! How does a batch of scenes go through a critic, and its gradient back?
//!
//! A [`Batch`] holds scenes one after the other, each with as many items as it has. A [`Pass`] owns the
//! buffers: [`Pass::forward`] lays the batch out feature-major, as `kernel` wants it (one column per item
//! in the encoder, one per scene in the head), and [`Pass::backward`] turns the gradient by each scene's
//! chosen logit into the gradient by each parameter.
//!
//! **Invariants:** columns that only pad a buffer hold finite numbers going forward and a gradient of zero
//! going back, so they never reach a weight; nothing is allocated once the largest batch has been seen.

use super::{Critic, SUM_SCALE};
use crate::kernel::{Left, OuterSum, PAD, Product, Start, padded};
use crate::topology::Layer;

/// Scenes, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    fixed: Vec<f32>,
    items: Vec<f32>,
    /// Where each scene's items end, counted in items.
    ends: Vec<usize>,
}

impl Batch {
    /// Empties the batch and keeps its room.
    pub fn clear(&mut self) {
        self.fixed.clear();
        self.items.clear();
        self.ends.clear();
    }

    /// Adds a scene: its fixed part, and its items one after the other, `item` numbers each.
    pub fn push(
        &mut self,
        fixed: impl IntoIterator<Item = f32>,
        items: impl IntoIterator<Item = f32>,
        item: usize,
    ) {
        self.fixed.extend(fixed);
        self.items.extend(items);
        self.ends.push(self.items.len().checked_div(item).unwrap_or(0));
    }

    /// How many scenes there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The items of a scene, as a range of columns.
    fn segment(&self, scene: usize) -> std::ops::Range<usize> {
        let start = if scene == 0 { 0 } else { self.ends[scene - 1] };
        start..self.ends[scene]
    }
}

/// Buffers for a batch's way through a critic.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// Padded numbers of scenes and of items: the widths of all buffers.
    scenes: usize,
    items: usize,
    fixed_columns: Vec<f32>,
    item_columns: Vec<f32>,
    fixed_part: Vec<f32>,
    /// What each layer of the encoder gives.
    encoded: Vec<Vec<f32>>,
    /// What each layer of the head takes, and what the last one gives.
    head: Vec<Vec<f32>>,
    /// Gradients by the same.
    head_deltas: Vec<Vec<f32>>,
    encoded_deltas: Vec<Vec<f32>>,
    fixed_part_delta: Vec<f32>,
}

impl Pass {
    /// Computes the logits of a batch.
    ///
    /// # Panics
    ///
    /// If the batch was filled for another shape.
    pub fn forward(&mut self, critic: &Critic, batch: &Batch) {
        let shape = critic.shape();
        assert_eq!(batch.fixed.len(), batch.len() * shape.fixed, "length of the fixed parts");
        let layers = critic.layers();
        self.scenes = lanes(batch.len());
        columns(&batch.fixed, shape.fixed, self.scenes, &mut self.fixed_columns);
        let pooled = layers.pooled();
        self.head.resize(layers.head.len() + 1, Vec::new());
        let width = layers.head[0].inputs;
        fit(&mut self.head[0], width * self.scenes);
        if let Some((item_in, fixed_in)) = &layers.item_in {
            self.items = lanes(batch.items.len() / shape.item);
            columns(&batch.items, shape.item, self.items, &mut self.item_columns);
            fit(&mut self.fixed_part, fixed_in.outputs * self.scenes);
            let bias = Start::Bias(&critic.parameters()[fixed_in.bias()]);
            product(critic, fixed_in, &self.fixed_columns, bias, &mut self.fixed_part, self.scenes);
            self.encoded.resize(layers.encoder.len() + 1, Vec::new());
            let first = &mut self.encoded[0];
            fit(first, item_in.outputs * self.items);
            product(critic, item_in, &self.item_columns, Start::Zero, first, self.items);
            // Not one item in the whole batch is possible: then there are no rows to go through.
            let parts = self.fixed_part.chunks_exact(self.scenes);
            for (row, part) in first.chunks_exact_mut(self.items.max(1)).zip(parts) {
                for scene in 0..batch.len() {
                    let add = part[scene];
                    row[batch.segment(scene)].iter_mut().for_each(|value| *value += add);
                }
            }
            item_in.activation.apply(first);
            for (index, layer) in layers.encoder.iter().enumerate() {
                let (before, after) = self.encoded.split_at_mut(index + 1);
                fit(&mut after[0], layer.outputs * self.items);
                let bias = Start::Bias(&critic.parameters()[layer.bias()]);
                product(critic, layer, &before[index], bias, &mut after[0], self.items);
                layer.activation.apply(&mut after[0]);
            }
            self.pool(batch, pooled);
        }
        self.head[0][2 * pooled * self.scenes..].copy_from_slice(&self.fixed_columns);
        for (index, layer) in layers.head.iter().enumerate() {
            let (before, after) = self.head.split_at_mut(index + 1);
            fit(&mut after[0], layer.outputs * self.scenes);
            let bias = Start::Bias(&critic.parameters()[layer.bias()]);
            product(critic, layer, &before[index], bias, &mut after[0], self.scenes);
            layer.activation.apply(&mut after[0]);
        }
    }

    /// One scene's logit of one action, after [`Pass::forward`], without the critic's shift.
    pub fn logit(&self, scene: usize, action: usize) -> f32 {
        self.head[self.head.len() - 1][action * self.scenes + scene]
    }

    /// Maximum and sum over each scene's items.
    fn pool(&mut self, batch: &Batch, pooled: usize) {
        let encoded = &self.encoded[self.encoded.len() - 1];
        let (maxima, rest) = self.head[0].split_at_mut(pooled * self.scenes);
        let sums = &mut rest[..pooled * self.scenes];
        for unit in 0..pooled {
            let row = &encoded[unit * self.items..(unit + 1) * self.items];
            for scene in 0..batch.len() {
                let place = unit * self.scenes + scene;
                let (mut largest, mut total) = (0.0_f32, 0.0_f32);
                for &value in &row[batch.segment(scene)] {
                    largest = if value > largest { value } else { largest };
                    total += value;
                }
                maxima[place] = largest;
                sums[place] = total * SUM_SCALE;
            }
        }
    }

    /// Computes the gradient by each parameter from the gradient by each scene's chosen logit, over what
    /// was in `gradients`. [`Pass::forward`] of the same batch came before.
    ///
    /// # Panics
    ///
    /// If a slice is not as long as the batch, or `gradients` as the parameters.
    pub fn backward(
        &mut self,
        critic: &Critic,
        batch: &Batch,
        actions: &[usize],
        by_logit: &[f32],
        gradients: &mut [f32],
    ) {
        assert_eq!(actions.len(), batch.len(), "number of actions");
        assert_eq!(by_logit.len(), batch.len(), "number of gradients");
        assert_eq!(gradients.len(), critic.parameters().len(), "number of parameters");
        let layers = critic.layers();
        self.head_deltas.resize(self.head.len(), Vec::new());
        for (delta, values) in self.head_deltas.iter_mut().zip(&self.head) {
            fit(delta, values.len());
        }
        let last = self.head.len() - 1;
        self.head_deltas[last].fill(0.0);
        for (scene, (&action, &gradient)) in actions.iter().zip(by_logit).enumerate() {
            self.head_deltas[last][action * self.scenes + scene] = gradient;
        }
        for (index, layer) in layers.head.iter().enumerate().rev() {
            let (before, after) = self.head_deltas.split_at_mut(index + 1);
            let delta = &mut after[0];
            layer.activation.apply_derivative(&self.head[index + 1], delta);
            by_weights(layer, delta, &self.head[index], self.scenes, gradients);
            by_bias(layer, delta, self.scenes, gradients);
            if index > 0 || layers.item_in.is_some() {
                by_inputs(critic, layer, delta, &mut before[index], self.scenes);
            }
        }
        if let Some((item_in, fixed_in)) = &layers.item_in {
            self.unpool(batch, layers.pooled());
            for (index, layer) in layers.encoder.iter().enumerate().rev() {
                let (before, after) = self.encoded_deltas.split_at_mut(index + 1);
                let delta = &mut after[0];
                layer.activation.apply_derivative(&self.encoded[index + 1], delta);
                by_weights(layer, delta, &self.encoded[index], self.items, gradients);
                by_bias(layer, delta, self.items, gradients);
                by_inputs(critic, layer, delta, &mut before[index], self.items);
            }
            let delta = &mut self.encoded_deltas[0];
            item_in.activation.apply_derivative(&self.encoded[0], delta);
            by_weights(item_in, delta, &self.item_columns, self.items, gradients);
            // Its bias is that of the fixed part.
            gradients[item_in.bias()].fill(0.0);
            fit(&mut self.fixed_part_delta, fixed_in.outputs * self.scenes);
            self.fixed_part_delta.fill(0.0);
            let parts = self.fixed_part_delta.chunks_exact_mut(self.scenes);
            for (row, part) in delta.chunks_exact(self.items.max(1)).zip(parts) {
                for (scene, sum) in part[..batch.len()].iter_mut().enumerate() {
                    *sum = row[batch.segment(scene)].iter().sum();
                }
            }
            let delta = &self.fixed_part_delta;
            by_weights(fixed_in, delta, &self.fixed_columns, self.scenes, gradients);
            by_bias(fixed_in, delta, self.scenes, gradients);
        }
    }

    /// The gradient of [`Pass::pool`].
    fn unpool(&mut self, batch: &Batch, pooled: usize) {
        self.encoded_deltas.resize(self.encoded.len(), Vec::new());
        for (delta, values) in self.encoded_deltas.iter_mut().zip(&self.encoded) {
            fit(delta, values.len());
        }
        let last = self.encoded_deltas.len() - 1;
        let deltas = &mut self.encoded_deltas[last];
        deltas.fill(0.0);
        let (by_pooled, maxima, encoded) =
            (&self.head_deltas[0], &self.head[0], &self.encoded[last]);
        for unit in 0..pooled {
            let lanes = unit * self.items..(unit + 1) * self.items;
            let (row, values) = (&mut deltas[lanes.clone()], &encoded[lanes]);
            for scene in 0..batch.len() {
                let place = unit * self.scenes + scene;
                let by_sum = by_pooled[pooled * self.scenes + place] * SUM_SCALE;
                let segment = batch.segment(scene);
                row[segment.clone()].fill(by_sum);
                let largest = maxima[place];
                // The first of several that are alike; none if nothing is above zero.
                if largest > 0.0
                    && let Some(at) = values[segment.clone()].iter().position(|it| *it == largest)
                {
                    row[segment.start + at] += by_pooled[place];
                }
            }
        }
    }
}

/// The width of a buffer with so many columns: whole vectors, and not a multiple of a quarter of a page, which
/// would put the same column of all rows into the same few lines of the cache.
fn lanes(columns: usize) -> usize {
    const QUARTER_PAGE: usize = 256;
    let lanes = padded(columns);
    if lanes > 0 && lanes.is_multiple_of(QUARTER_PAGE) { lanes + PAD } else { lanes }
}

/// Gives a buffer its length; what it holds is not defined, but finite.
fn fit(buffer: &mut Vec<f32>, len: usize) {
    buffer.resize(len, 0.0);
}

/// Turns rows of `width` numbers into columns of a matrix `lanes` wide, padded with zeros.
fn columns(rows: &[f32], width: usize, lanes: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(width * lanes, 0.0);
    for (lane, row) in rows.chunks_exact(width).enumerate() {
        for (index, &number) in row.iter().enumerate() {
            out[index * lanes + lane] = number;
        }
    }
}

fn product(
    critic: &Critic,
    layer: &Layer,
    right: &[f32],
    start: Start<'_>,
    out: &mut [f32],
    n: usize,
) {
    critic.product(layer, right, start, out, n);
}

/// Writes a layer's weight gradients.
fn by_weights(layer: &Layer, delta: &[f32], inputs: &[f32], n: usize, gradients: &mut [f32]) {
    OuterSum {
        left: delta,
        right: inputs,
        out: &mut gradients[layer.weights()],
        m: layer.outputs,
        k: layer.inputs,
        n,
        stride: layer.stride(),
    }
    .run();
}

/// Writes its bias gradients: sums along the rows, in as many chains as a vector has lanes.
fn by_bias(layer: &Layer, delta: &[f32], n: usize, gradients: &mut [f32]) {
    gradients[layer.bias()].fill(0.0);
    for (bias, row) in gradients[layer.bias()].iter_mut().zip(delta.chunks_exact(n.max(1))) {
        let mut sums = [0.0_f32; PAD];
        for vector in row.as_chunks::<PAD>().0 {
            sums.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        *bias = sums.iter().sum();
    }
}

/// Writes the gradient by a layer's inputs.
fn by_inputs(critic: &Critic, layer: &Layer, delta: &[f32], out: &mut [f32], n: usize) {
    Product {
        left: &critic.parameters()[layer.weights()],
        layout: Left::Columns,
        stride: layer.stride(),
        right: delta,
        start: Start::Zero,
        out,
        m: layer.inputs,
        k: layer.outputs,
        n,
    }
    .run();
}

//! How are two small matrices multiplied fast, without `unsafe` and without allocation?
//!
//! Every matrix product of the network has one of three forms, and all of them run through the one
//! register tile in [`tile`]. Activations are stored feature-major (one row per unit, one column
//! per sample), so the vector unit works along the batch and each weight is read once:
//!
//! ```text
//!   forward         Y  = W  · X       rows of W broadcast, vectors along the batch
//!   input gradient  dX = Wᵀ · dY      columns of W broadcast, vectors along the batch
//!   weight gradient dW = dY · Xᵀ      rows of dY broadcast, vectors along the inputs
//! ```
//!
//! Start at [`Product`]; [`dot`] serves the single-sample path. `pulp` chooses the instruction set
//! when the program starts (AVX-512, AVX2 with FMA, NEON or plain code), so a generic build is fast
//! on each user's machine.
//!
//! **Invariants:** the same machine gives the same bits, for the order of additions is fixed by the
//! shapes alone; a NaN that goes in comes out.
//!
//! **Absent on purpose:** packing and cache blocking (a whole layer fits the second-level cache),
//! threads (training seeds run side by side instead).

use pulp::{Arch, Simd, WithSimd};

/// Rows of activations and weights are padded to a multiple of this many `f32` [one AVX-512 vector].
pub(crate) const PAD: usize = 16;

/// Returns `len` rounded up to a whole number of vectors.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(PAD)
}

/// How the left factor of a [`Product`] lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Row `i`, column `k` is at `i * stride + k`.
    Rows,
    /// Row `i`, column `k` is at `k * stride + i`.
    Columns,
}

/// What a [`Product`] adds to each row of its result before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'a> {
    /// Nothing.
    Zero,
    /// One number per row.
    Bias(&'a [f32]),
}

/// One product `out = start + left · right`, with `right` and `out` row-major and `n` wide.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    pub(crate) left: &'a [f32],
    pub(crate) layout: Left,
    /// Distance between the rows (or, for [`Left::Columns`], the columns) of `left`.
    pub(crate) stride: usize,
    pub(crate) right: &'a [f32],
    pub(crate) start: Start<'a>,
    pub(crate) out: &'a mut [f32],
    /// Rows of the result.
    pub(crate) m: usize,
    /// Terms of each sum.
    pub(crate) k: usize,
    /// Columns of the result, a multiple of [`PAD`].
    pub(crate) n: usize,
}

impl Product<'_> {
    /// Writes the product to `out`.
    pub(crate) fn run(self) {
        debug_assert!(self.n.is_multiple_of(PAD));
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.layout {
            Left::Rows => product::<S, true>(simd, self),
            Left::Columns => product::<S, false>(simd, self),
        }
    }
}

/// One sum of outer products `out = left · rightᵀ`, both factors row-major and `n` wide: the gradient by a
/// layer's weights, without turning either factor around.
#[derive(Debug)]
pub(crate) struct OuterSum<'a> {
    /// `m` rows.
    pub(crate) left: &'a [f32],
    /// `k` rows.
    pub(crate) right: &'a [f32],
    /// `m` rows of `stride`, of which the first `k` numbers are written.
    pub(crate) out: &'a mut [f32],
    pub(crate) m: usize,
    pub(crate) k: usize,
    /// Terms of each sum, a multiple of [`PAD`].
    pub(crate) n: usize,
    /// Distance between the rows of `out`.
    pub(crate) stride: usize,
}

impl OuterSum<'_> {
    /// Writes the sum to `out`.
    pub(crate) fn run(self) {
        debug_assert!(self.n.is_multiple_of(PAD));
        Arch::new().dispatch(self);
    }
}

impl WithSimd for OuterSum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut row = 0;
        while row + 4 <= self.m {
            outer_rows::<S, 4>(simd, &mut self, row);
            row += 4;
        }
        while row < self.m {
            outer_rows::<S, 1>(simd, &mut self, row);
            row += 1;
        }
    }
}

/// Computes `M` rows of an [`OuterSum`].
#[inline(always)]
fn outer_rows<S: Simd, const M: usize>(simd: S, p: &mut OuterSum<'_>, row: usize) {
    let (left, _) = S::as_simd_f32s(p.left);
    let (right, _) = S::as_simd_f32s(p.right);
    let vectors = p.n / S::F32_LANES;
    let rows: [&[S::f32s]; M] =
        std::array::from_fn(|i| &left[(row + i) * vectors..(row + i + 1) * vectors]);
    let mut column = 0;
    while column + 4 <= p.k {
        outer_tile::<S, M, 4>(simd, rows, right, vectors, row, column, p.out, p.stride);
        column += 4;
    }
    while column < p.k {
        outer_tile::<S, M, 1>(simd, rows, right, vectors, row, column, p.out, p.stride);
        column += 1;
    }
}

/// Computes `M` by `K` numbers of an [`OuterSum`], kept in registers throughout the sum.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "one tile's place in three matrices")]
fn outer_tile<S: Simd, const M: usize, const K: usize>(
    simd: S,
    rows: [&[S::f32s]; M],
    right: &[S::f32s],
    vectors: usize,
    row: usize,
    column: usize,
    out: &mut [f32],
    stride: usize,
) {
    let others: [&[S::f32s]; K] =
        std::array::from_fn(|j| &right[(column + j) * vectors..(column + j + 1) * vectors]);
    let mut sums = [[simd.splat_f32s(0.0); K]; M];
    for term in 0..vectors {
        let b: [S::f32s; K] = std::array::from_fn(|j| others[j][term]);
        for i in 0..M {
            let a = rows[i][term];
            for j in 0..K {
                sums[i][j] = simd.mul_add_e_f32s(a, b[j], sums[i][j]);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        for (j, sum) in sums.iter().enumerate() {
            out[(row + i) * stride + column + j] = simd.reduce_sum_f32s(*sum);
        }
    }
}

/// Writes `weights · input + bias` for a single sample: one scalar product per row.
#[derive(Debug)]
pub(crate) struct Apply<'a> {
    pub(crate) weights: &'a [f32],
    pub(crate) bias: &'a [f32],
    /// As long as a row of `weights`, its padding zero.
    pub(crate) input: &'a [f32],
    pub(crate) out: &'a mut [f32],
}

impl Apply<'_> {
    /// Writes the layer's output to `out`.
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.weights.chunks_exact(self.input.len());
        for ((row, &bias), out) in rows.zip(self.bias).zip(self.out) {
            *out = bias + dot(simd, row, self.input);
        }
    }
}

/// Sums the products of two slices of one length in four interleaved chains, so that the latency of
/// one addition hides behind three others.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = S::as_simd_f32s(a);
    let (b, b_rest) = S::as_simd_f32s(b);
    let mut sums = [simd.splat_f32s(0.0); 4];
    let (a_blocks, a_tail) = a.as_chunks::<4>();
    let (b_blocks, b_tail) = b.as_chunks::<4>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..4 {
            sums[lane] = simd.mul_add_e_f32s(a[lane], b[lane], sums[lane]);
        }
    }
    for (&a, &b) in a_tail.iter().zip(b_tail) {
        sums[0] = simd.mul_add_e_f32s(a, b, sums[0]);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let pairs = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
    simd.reduce_sum_f32s(pairs) + rest
}

/// Covers the result with tiles. The tile's height fits the registers: 32 of them with AVX-512,
/// 16 with AVX2, and a tile holds two vectors per row plus what it multiplies.
#[inline(always)]
fn product<S: Simd, const ROWS: bool>(simd: S, mut p: Product<'_>) {
    let mut row = 0;
    if S::F32_LANES >= 16 {
        row = bands::<S, ROWS, 8>(simd, &mut p, row);
    }
    row = bands::<S, ROWS, 4>(simd, &mut p, row);
    bands::<S, ROWS, 1>(simd, &mut p, row);
}

/// Computes as many bands of `M` rows as remain from `row` on, and returns the first row left over.
#[inline(always)]
fn bands<S: Simd, const ROWS: bool, const M: usize>(
    simd: S,
    p: &mut Product<'_>,
    mut row: usize,
) -> usize {
    let (right, _) = S::as_simd_f32s(p.right);
    let (out, _) = S::as_mut_simd_f32s(&mut *p.out);
    let vectors = p.n / S::F32_LANES;
    while row + M <= p.m {
        let start: [f32; M] = match p.start {
            Start::Zero => [0.0; M],
            Start::Bias(bias) => std::array::from_fn(|i| bias[row + i]),
        };
        let left = if ROWS { &p.left[row * p.stride..] } else { &p.left[row..] };
        let out = &mut out[row * vectors..(row + M) * vectors];
        let mut column = 0;
        while column + 2 <= vectors {
            let right = &right[column..];
            let sums = tile::<S, ROWS, M, 2>(simd, left, p.stride, right, vectors, p.k, start);
            store(out, sums, column, vectors);
            column += 2;
        }
        if column < vectors {
            let right = &right[column..];
            let sums = tile::<S, ROWS, M, 1>(simd, left, p.stride, right, vectors, p.k, start);
            store(out, sums, column, vectors);
        }
        row += M;
    }
    row
}

/// Returns `M` rows by `N` vectors of the result, kept in registers throughout the sum.
#[inline(always)]
fn tile<S: Simd, const ROWS: bool, const M: usize, const N: usize>(
    simd: S,
    left: &[f32],
    stride: usize,
    right: &[S::f32s],
    vectors: usize,
    k: usize,
    start: [f32; M],
) -> [[S::f32s; N]; M] {
    let mut sums = start.map(|value| [simd.splat_f32s(value); N]);
    // Each row is cut to exactly `k` here, so that the loop below needs no bounds checks.
    let rows: [&[f32]; M] =
        std::array::from_fn(|i| if ROWS { &left[i * stride..i * stride + k] } else { &left[..0] });
    for term in 0..k {
        let factors: [f32; M] = if ROWS {
            std::array::from_fn(|i| rows[i][term])
        } else {
            let column = &left[term * stride..term * stride + M];
            std::array::from_fn(|i| column[i])
        };
        let vector = &right[term * vectors..term * vectors + N];
        for i in 0..M {
            let factor = simd.splat_f32s(factors[i]);
            for j in 0..N {
                sums[i][j] = simd.mul_add_e_f32s(factor, vector[j], sums[i][j]);
            }
        }
    }
    sums
}

/// Writes a tile into its `M` rows of the result.
#[inline(always)]
fn store<V: Copy, const M: usize, const N: usize>(
    out: &mut [V],
    sums: [[V; N]; M],
    column: usize,
    vectors: usize,
) {
    for (i, row) in sums.iter().enumerate() {
        out[i * vectors + column..i * vectors + column + N].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, so that every sum is exact in whatever order it is taken.
    fn numbers(len: usize, salt: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7 + salt * 5) % 11) as f32 - 5.0).collect()
    }

    #[test]
    fn every_tile_shape_agrees_with_the_definition() {
        for (m, k, n) in [(1, 1, 16), (3, 25, 16), (5, 7, 48), (13, 32, 32), (20, 4, 80)] {
            for layout in [Left::Rows, Left::Columns] {
                let stride = if layout == Left::Rows { k + 3 } else { m + 3 };
                let left = numbers(stride * m.max(k), 1);
                let (right, bias) = (numbers(k * n, 2), numbers(m, 3));
                let mut out = vec![f32::NAN; m * n];
                let (start, right) = (Start::Bias(&bias), &right[..]);
                Product { left: &left, layout, stride, right, start, out: &mut out, m, k, n }.run();
                for row in 0..m {
                    for column in 0..n {
                        let term = |i: usize| match layout {
                            Left::Rows => left[row * stride + i] * right[i * n + column],
                            Left::Columns => left[i * stride + row] * right[i * n + column],
                        };
                        let expected = bias[row] + (0..k).map(term).sum::<f32>();
                        assert_eq!(out[row * n + column], expected, "{m}x{k}x{n} {layout:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_sum_of_outer_products_agrees_with_the_definition() {
        for (m, k, n) in [(1, 1, 16), (4, 4, 32), (5, 7, 48), (9, 6, 16)] {
            let stride = padded(k);
            let (left, right) = (numbers(m * n, 1), numbers(k * n, 2));
            let mut out = vec![0.0; m * stride];
            OuterSum { left: &left, right: &right, out: &mut out, m, k, n, stride }.run();
            for row in 0..m {
                for column in 0..k {
                    let expected: f32 =
                        (0..n).map(|i| left[row * n + i] * right[column * n + i]).sum();
                    assert_eq!(out[row * stride + column], expected, "{m}x{k}x{n}");
                }
            }
        }
    }

    #[test]
    fn a_single_sample_agrees_with_the_definition() {
        for (outputs, stride) in [(1, 16), (5, 32), (9, 80), (3, 7)] {
            let (weights, input) = (numbers(outputs * stride, 1), numbers(stride, 2));
            let bias = numbers(outputs, 3);
            let mut out = vec![f32::NAN; outputs];
            Apply { weights: &weights, bias: &bias, input: &input, out: &mut out }.run();
            for (row, out) in out.iter().enumerate() {
                let products = weights[row * stride..].iter().zip(&input).map(|(w, x)| w * x);
                assert_eq!(*out, bias[row] + products.sum::<f32>(), "{outputs}x{stride}");
            }
        }
    }
}

//! How is a large linear system solved when only products with its matrix are at hand?
//!
//! By conjugate gradients (Hestenes and Stiefel, 1952): [`solve`] improves its answer in as many directions as it makes
//! products. The matrix must be symmetric and positive, as a damped Fisher matrix is.

/// Residuals whose square has fallen by this factor are as good as zero.
const TOLERANCE: f64 = 1e-20;

/// Returns `x` with `matrix * x` close to `right`; `product` writes the matrix times its first argument to its second.
///
/// What is not finite comes out as it is.
pub fn solve(
    mut product: impl FnMut(&[f64], &mut [f64]),
    right: &[f64],
    iterations: usize,
) -> Vec<f64> {
    let mut x = vec![0.0; right.len()];
    let mut residual = right.to_vec();
    let mut direction = right.to_vec();
    let mut image = vec![0.0; right.len()];
    let mut square = dot(&residual, &residual);
    let enough = square * TOLERANCE;
    for _ in 0..iterations {
        if square <= enough {
            break;
        }
        product(&direction, &mut image);
        let length = square / dot(&direction, &image);
        for (index, image) in image.iter().enumerate() {
            x[index] += length * direction[index];
            residual[index] -= length * image;
        }
        let before = std::mem::replace(&mut square, dot(&residual, &residual));
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            *direction = residual + square / before * *direction;
        }
    }
    x
}

/// Returns the sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

//! How does a detector add evidence up, so that what two have found can be put together?
//!
//! An e-detector bets: `S <- (S + 1)(1 + lambda d)`, where `d` has no positive mean without cause. Nobody
//! knows the best stake `lambda`, so there are three, and what they would have won is averaged: [`bet`].
//!
//! Over several such steps `S` becomes `a S + b`, where `a` is the product of the factors and `b` is what the same
//! steps would have made of 0. A [`Sum`] keeps all three, so two runs that began at the same place can be put
//! one after the other: [`Sum::absorb`].
//!
//! **Invariants:** all three are at least 0 and at most [`GREATEST`], for every sequence of floats; as
//! long as none has been that great, `value` is `product` times the value at the fork, plus `own`, up to
//! rounding.

/// The stakes. Where incidents are rare and twice as likely as foretold, the best stake is near 1;
/// where they are a tenth more likely, it is about 0.1.
const STAKES: [f64; 3] = [0.1, 0.3, 0.9];

/// Where a sum stops growing. Stopping only makes alarms rarer, so the promise of their rarity stays.
pub(crate) const GREATEST: f64 = 1e300;

/// A sum of evidence at one stake, and what it has added since the last [`Memory::fork`](crate::Memory::fork).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// The sum `S`.
    pub value: f64,
    /// By how much a greater sum at the fork would have been greater now: the product of what was multiplied since.
    pub product: f64,
    /// What the sum would be now if it had been 0 at the fork.
    pub own: f64,
}

impl Sum {
    /// Nothing yet.
    pub(crate) const NONE: Sum = Sum { value: 0.0, product: 1.0, own: 0.0 };

    /// Takes one factor into account, which is at least 0 and no NaN.
    pub(crate) fn learn(&mut self, factor: f64) {
        self.value = limited((self.value + 1.0) * factor);
        self.product = limited(self.product * factor);
        self.own = limited((self.own + 1.0) * factor);
    }

    /// Begins anew at 0, whatever the sum was at the fork.
    pub(crate) const fn clear(&mut self) {
        *self = Sum { value: 0.0, product: 0.0, own: 0.0 };
    }

    /// The same sum, from which on is remembered what is added.
    pub(crate) const fn fork(self) -> Sum {
        Sum { product: 1.0, own: 0.0, ..self }
    }

    /// Does once more what was done to a fork.
    pub(crate) fn absorb(&mut self, fork: &Sum) {
        self.value = limited(fork.product * self.value + fork.own);
        self.product = limited(fork.product * self.product);
        self.own = limited(fork.product * self.own + fork.own);
    }

    /// Whether its numbers can be those of a sum.
    pub(crate) fn is_usable(&self) -> bool {
        [self.value, self.product, self.own].iter().all(|part| (0.0..=GREATEST).contains(part))
    }
}

/// Bets on `gain`, which is at least -1 and no NaN, at every stake.
pub(crate) fn bet(sums: &mut [Sum; 3], gain: f64) {
    for (sum, stake) in sums.iter_mut().zip(STAKES) {
        sum.learn(1.0 + stake * gain);
    }
}

/// What was won: the average over the stakes.
pub(crate) fn average(sums: &[Sum; 3]) -> f64 {
    let [a, b, c] = sums;
    (a.value + b.value + c.value) / STAKES.len() as f64
}

/// The number, or [`GREATEST`] if it is greater, or has overflowed.
fn limited(grown: f64) -> f64 {
    if grown < GREATEST { grown } else { GREATEST }
}

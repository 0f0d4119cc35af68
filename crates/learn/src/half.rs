//! How is a weight kept in two bytes?
//!
//! As IEEE 754's binary16: 11 bits of precision, which is plenty for a weight of a policy, in half the room. PyTorch and
//! others know it as `float16`.

/// The nearest half-precision number, to even among equals; beyond the greatest, infinite.
pub(crate) fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    // NaN and what is at least 65,520, which would round beyond the greatest.
    if magnitude >= 0x477f_f000 {
        return sign | if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    }
    // Below 2^-14 there is no exponent left: what remains is counted in units of 2^-24.
    if magnitude < 0x3880_0000 {
        let units = (f32::from_bits(magnitude) * 16_777_216.0).round_ties_even();
        return sign | units as u16;
    }
    // The exponent's bias goes from 127 to 15; a carry out of the mantissa raises it, as it should.
    let rounded = magnitude + 0x0fff + ((magnitude >> 13) & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// What a half-precision number says.
pub(crate) fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    let bits = match magnitude >> 10 {
        0 => (magnitude as f32 / 16_777_216.0).to_bits(),
        31 => (magnitude << 13) | 0x7f80_0000,
        _ => (magnitude << 13) + (112 << 23),
    };
    f32::from_bits(sign | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back_and_known_ones_are_right() {
        for half in 0..=u16::MAX {
            let value = from_half(half);
            if value.is_nan() {
                assert!(from_half(to_half(value)).is_nan());
            } else {
                assert_eq!(to_half(value), half, "{value}");
            }
        }
        for (value, half) in
            [(1.0, 0x3c00), (-2.0, 0xc000), (65_504.0, 0x7bff), (6e-8, 1), (0.1, 0x2e66)]
        {
            assert_eq!(to_half(value), half, "{value}");
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_and_to_even_among_equals() {
        assert_eq!(from_half(to_half(1.0 + 1.0 / 2048.0)), 1.0);
        assert_eq!(from_half(to_half(1.0 + 3.0 / 2048.0)), 1.0 + 2.0 / 1024.0);
        assert_eq!(from_half(to_half(65_519.0)), 65_504.0);
        assert_eq!(from_half(to_half(65_520.0)), f32::INFINITY);
        let mut value = 1e-9_f32;
        while value < 60_000.0 {
            let error = (from_half(to_half(value)) - value).abs();
            assert!(error <= value / 2048.0 || error <= 0.5 / 16_777_216.0, "{value}");
            value *= 1.003;
        }
    }
}

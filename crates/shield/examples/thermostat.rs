//! A shield outside driving: a learned heater control that must not overheat the greenhouse.
//!
//! The policy heats for growth and knows nothing of risk. The domain predicts, for each power
//! level, how far into the danger zone the air would go, and calls that the cost. Half way through
//! the day the sun comes out; how strongly it shines is the context.
//!
//! `cargo run -p cpss-shield --example thermostat`

use cpss_shield::{Fallback, Mode, Shield, ShieldSpec, Situation};

/// Power levels the heater can run at \[kW\].
const POWER: [f64; 4] = [0.0, 1.0, 2.0, 4.0];
const MINUTES: u32 = 120;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for mode in [Mode::Shadow, Mode::Enforce] {
        // At most half a unit of risk over two hours, one decision a minute.
        let fallback = Fallback::BestAdmissible;
        // If no power level's risk can be told, the heater goes off.
        let last_resort = 0;
        let spec = ShieldSpec { mode, fallback, last_resort, ..ShieldSpec::new(0.5, MINUTES) };
        let mut shield = Shield::new(spec)?;
        let mut air = 22.0;
        let mut hottest = air;
        for minute in 0..MINUTES {
            let sun = if minute < 60 { 0.1 } else { 0.9 };
            let costs = POWER.map(|power| risk(next_air(air, power, sun)));
            let proposal = if air < 30.5 { 3 } else { 1 };
            let decision = shield.judge(&Situation {
                proposal,
                costs: &costs,
                preferences: &POWER,
                density: sun,
            })?;
            if minute % 30 == 10 {
                println!("  minute {minute:3}, {air:.1} °C: {decision}");
            }

            air = next_air(air, POWER[decision.executed()], sun);
            shield.settle(decision, risk(air))?;
            hottest = air.max(hottest);
        }
        println!("{mode}: hottest {hottest:.1} °C\n{}\n", shield.certificate());
    }
    Ok(())
}

/// The air a minute from now \[°C\]: heater and sun warm it, the outside at 10 °C cools it.
fn next_air(air: f64, power: f64, sun: f64) -> f64 {
    air + 0.35 * power + 0.8 * sun - 0.04 * (air - 10.0)
}

/// What a temperature risks: nothing up to 28 °C, everything, a lost harvest, from 34 °C.
fn risk(air: f64) -> f64 {
    ((air - 28.0) / 6.0).clamp(0.0, 1.0)
}

//! How is a shield written down, by a person or in Python?
//!
//! [`SETTINGS`] is the one list of what may be written and what each takes: a TOML file and a dictionary of Python are
//! read by the same [`Written::set`], and what they leave out is the default. [`ShieldSettings`] is what the arms are
//! made of. The shipped ones are one list for all tasks, and for each task only what the task itself is. In a trace a
//! whole [`ShieldSpec`] stands as it is (`trace/shield.rs`).

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use cpss_highway::TaskId;
use cpss_shield::{Charge, Fallback, GainSpec, Mode, RiskSpec, ShieldSpec};

use crate::files::sheet::read_sheet;
use crate::record::memory::{Adaptation, MemorySettings};
use crate::tasks::{self, ShieldNumbers};

/// The shield that arms are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShieldSettings {
    /// The whole shield, without a price.
    pub spec: ShieldSpec,
    /// The weight of risk against the policy's preferences in the `priced` arm, above 0.
    pub price: f64,
    /// How a memory learns, where one is kept.
    pub adaptation: Adaptation,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A whole number from 0.
    Whole,
    /// One of these names.
    Name(&'static [&'static str]),
}

/// A setting's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A name.
    Name(String),
}

/// Every setting of a shield, and what it takes. What each means is said at [`ShieldSpec`].
pub const SETTINGS: [(&str, Kind); 15] = [
    ("budget", Kind::Number),
    ("horizon", Kind::Whole),
    ("epsilon", Kind::Number),
    ("tau_cap", Kind::Number),
    ("pace", Kind::Number),
    ("price", Kind::Number),
    ("charge", Kind::Name(&["observed", "predicted"])),
    ("gain", Kind::Name(&["exponential", "rational", "constant"])),
    ("k_density", Kind::Number),
    ("k_change", Kind::Number),
    ("gain_floor", Kind::Number),
    ("smoothing", Kind::Number),
    ("fallback", Kind::Name(&["min-risk", "best-admissible"])),
    ("mode", Kind::Name(&["enforce", "shadow"])),
    ("last_resort", Kind::Whole),
];

/// Settings that belong to an arm, and to nobody's file.
const OF_THE_ARM: [&str; 4] = ["epsilon", "charge", "gain", "mode"];

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Number => f.write_str("a number"),
            Kind::Whole => f.write_str("a whole number from 0"),
            Kind::Name(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                let (last, others) = names.split_last().ok_or(std::fmt::Error)?;
                write!(f, "{} or {last}", others.join(", "))
            }
        }
    }
}

/// A shield while its settings are read, in any order.
#[derive(Clone, Debug)]
pub struct Written {
    spec: ShieldSpec,
    gain: String,
    k_density: f64,
    k_change: f64,
    gain_floor: f64,
}

/// The defaults, without the two numbers that nobody can choose for you.
impl Default for Written {
    fn default() -> Written {
        let spec = ShieldSpec::new(f64::NAN, 0);
        let gain = "exponential".to_owned();
        Written { spec, gain, k_density: 1.0, k_change: 1.0, gain_floor: 0.1 }
    }
}

impl Written {
    /// What a setting takes; `None` if there is none of this name.
    pub fn kind(name: &str) -> Option<Kind> {
        SETTINGS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Sets a setting.
    ///
    /// # Errors
    ///
    /// `Err(())` if it does not take such a value.
    #[expect(
        clippy::result_unit_err,
        reason = "what it takes is said by `kind`, and what it was given is known"
    )]
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ()> {
        use Value::{Name, Number, Whole};
        let spec = &mut self.spec;
        match (name, value) {
            ("budget", Number(number)) => spec.budget = number,
            ("horizon", Whole(number)) => spec.horizon = u32::try_from(number).map_err(|_| ())?,
            ("epsilon", Number(number)) => spec.epsilon = number,
            ("tau_cap", Number(number)) => spec.tau_cap = number,
            ("pace", Number(number)) => spec.pace = number,
            ("price", Number(number)) => spec.price = number,
            ("charge", Name(name)) => {
                spec.charge = choice(&name, [Charge::Observed, Charge::Predicted], "charge")?;
            }
            ("gain", Name(name)) => {
                choice(&name, [(); 3], "gain")?;
                self.gain = name;
            }
            ("k_density", Number(number)) => self.k_density = number,
            ("k_change", Number(number)) => self.k_change = number,
            ("gain_floor", Number(number)) => self.gain_floor = number,
            ("smoothing", Number(number)) => spec.smoothing = number,
            ("fallback", Name(name)) => {
                let all = [Fallback::MinRisk, Fallback::BestAdmissible];
                spec.fallback = choice(&name, all, "fallback")?;
            }
            ("mode", Name(name)) => {
                spec.mode = choice(&name, [Mode::Enforce, Mode::Shadow], "mode")?
            }
            ("last_resort", Whole(number)) => {
                spec.last_resort = usize::try_from(number).map_err(|_| ())?;
            }
            _ => return Err(()),
        }
        Ok(())
    }

    /// The shield that was written.
    pub fn spec(&self) -> ShieldSpec {
        let Written { k_density, k_change, gain_floor: floor, .. } = *self;
        let gain = match self.gain.as_str() {
            "constant" => GainSpec::Constant,
            "rational" => GainSpec::Rational { k_density, k_change, floor },
            _ => GainSpec::Exponential { k_density, k_change, floor },
        };
        ShieldSpec { gain, ..self.spec }
    }
}

/// What a name stands for, in the order of [`SETTINGS`].
fn choice<T, const N: usize>(name: &str, all: [T; N], setting: &str) -> Result<T, ()> {
    let Some(Kind::Name(names)) = Written::kind(setting) else { return Err(()) };
    let place = names.iter().position(|known| *known == name).ok_or(())?;
    all.into_iter().nth(place).ok_or(())
}

/// Every setting of a shield with its value, by the names that it is read by.
pub fn written(spec: &ShieldSpec) -> [(&'static str, Value); 15] {
    use Value::{Name, Number, Whole};
    let (gain, k_density, k_change, floor) = match spec.gain {
        GainSpec::Constant => ("constant", 1.0, 1.0, 0.1),
        GainSpec::Exponential { k_density, k_change, floor } => {
            ("exponential", k_density, k_change, floor)
        }
        GainSpec::Rational { k_density, k_change, floor } => {
            ("rational", k_density, k_change, floor)
        }
    };
    let fallback = match spec.fallback {
        Fallback::MinRisk => "min-risk",
        Fallback::BestAdmissible => "best-admissible",
    };
    let values = [
        Number(spec.budget),
        Whole(spec.horizon.into()),
        Number(spec.epsilon),
        Number(spec.tau_cap),
        Number(spec.pace),
        Number(spec.price),
        Name(spec.charge.to_string()),
        Name(gain.to_owned()),
        Number(k_density),
        Number(k_change),
        Number(floor),
        Number(spec.smoothing),
        Name(fallback.to_owned()),
        Name(spec.mode.to_string()),
        Whole(spec.last_resort as u64),
    ];
    let mut names = SETTINGS.iter().map(|(name, _)| *name);
    values.map(|value| (names.next().unwrap_or_default(), value))
}

impl ShieldSettings {
    /// The shipped settings: one for all tasks and regimes, but for the horizon and the last resort.
    ///
    /// # Errors
    ///
    /// For a task that has none.
    pub fn shipped(id: TaskId) -> Result<ShieldSettings> {
        let shared = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/shield.toml"));
        let ShieldNumbers { horizon, last_resort } =
            tasks::of(id).spec.shield.with_context(|| {
                format!(
                    "no shield is shipped for {0}: tasks/{0}/task.toml had no `[shield]` when this program was built",
                    id.name()
                )
            })?;
        let text = format!("horizon = {horizon}\nlast_resort = {last_resort}\n{shared}");
        ShieldSettings::parse(&text).with_context(|| format!("the shipped shield of {}", id.name()))
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is no shield.
    pub fn read(path: &Path) -> Result<ShieldSettings> {
        let text = read_sheet(path)
            .with_context(|| format!("cannot read the shield {}", path.display()))?;
        ShieldSettings::parse(&text).with_context(|| format!("the shield {}", path.display()))
    }

    /// What a file may say, and what each takes.
    pub(crate) fn of_a_file() -> impl Iterator<Item = (&'static str, Kind)> {
        let own = SETTINGS.into_iter().filter(|(name, _)| !OF_THE_ARM.contains(name));
        own.chain(["recalibration", "max_shift", "precaution"].map(|name| (name, Kind::Number)))
    }

    /// What a file has to say.
    pub(crate) const REQUIRED: [&str; 2] = ["budget", "horizon"];

    fn parse(text: &str) -> Result<ShieldSettings> {
        let table: toml::Table = toml::from_str(text)?;
        let mut shield = Written::default();
        // Where every action is judged, the one that the policy prefers among those that may run.
        shield.spec.fallback = Fallback::BestAdmissible;
        shield.spec.price = 1.0;
        let mut adaptation = Adaptation::default();
        for (name, value) in &table {
            let found = ShieldSettings::of_a_file().find(|(known, _)| known == name);
            let (_, kind) = found.ok_or_else(|| unknown(name))?;
            let wrong = || anyhow!("`{name}` is {value}, but has to be {kind}");
            match (name.as_str(), of_toml(kind, value).ok_or_else(wrong)?) {
                ("recalibration", Value::Number(number)) => adaptation.rate = number,
                ("max_shift", Value::Number(number)) => adaptation.max_shift = number,
                ("precaution", Value::Number(number)) => adaptation.precaution = number,
                (name, value) => shield.set(name, value).map_err(|()| wrong())?,
            }
        }
        for name in ShieldSettings::REQUIRED {
            if !table.contains_key(name) {
                bail!("missing field `{name}`");
            }
        }
        let price = shield.spec.price;
        // Only some arms and runs use these, and the others would not notice.
        let Adaptation { rate, max_shift, precaution } = adaptation;
        for (name, number) in [
            ("price", price),
            ("recalibration", rate),
            ("max_shift", max_shift),
            ("precaution", precaution),
        ] {
            ensure!(
                number.is_finite() && number >= 0.0,
                "`{name}` is {number}, but has to be a finite number of at least 0"
            );
        }
        // Whatever opens a memory later finds the same faults.
        MemorySettings::unscored(adaptation).open(&RiskSpec::new()).map_err(|e| anyhow!("{e}"))?;
        // What was judged is charged: costs are risks, and what cannot be avoided is nobody's choice.
        let spec = ShieldSpec { charge: Charge::Predicted, price: 0.0, ..shield.spec() };
        Ok(ShieldSettings { spec, price, adaptation })
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let known: Vec<&str> = ShieldSettings::of_a_file().map(|(known, _)| known).collect();
    anyhow!("unknown field `{name}`; there are {}", known.join(", "))
}

fn of_toml(kind: Kind, value: &toml::Value) -> Option<Value> {
    match kind {
        Kind::Number => {
            let whole = || value.as_integer().map(|whole| whole as f64);
            value.as_float().or_else(whole).map(Value::Number)
        }
        Kind::Whole => value.as_integer().and_then(|whole| whole.try_into().ok()).map(Value::Whole),
        Kind::Name(_) => value.as_str().map(|name| Value::Name(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let spec = ShieldSpec {
            gain: GainSpec::Rational { k_density: 0.25, k_change: 0.5, floor: 0.125 },
            fallback: Fallback::BestAdmissible,
            charge: Charge::Predicted,
            mode: Mode::Shadow,
            last_resort: 3,
            price: 0.75,
            ..ShieldSpec::new(0.5, 40)
        };
        for spec in [spec, ShieldSpec { gain: GainSpec::Constant, ..spec }] {
            let mut again = Written::default();
            for (name, value) in written(&spec) {
                again.set(name, value).unwrap();
            }
            assert_eq!(again.spec(), spec);
        }
        for (name, kind) in SETTINGS {
            let wrong = if kind == Kind::Number { Value::Whole(1) } else { Value::Number(1.0) };
            assert!(Written::default().set(name, wrong).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_no_shield_is_refused_in_words() {
        let refusal = |text: &str| format!("{:#}", ShieldSettings::parse(text).unwrap_err());
        assert!(refusal("budget = 1.0").contains("missing field `horizon`"));
        assert!(refusal("budgt = 1.0").contains("unknown field `budgt`"));
        assert!(refusal("mode = \"shadow\"").contains("unknown field `mode`"));
        assert!(refusal("horizon = -3").contains("`horizon` is -3, but has to be a whole number"));
        let choice = refusal("fallback = \"none\"");
        assert!(choice.contains("has to be \"min-risk\" or \"best-admissible\""), "{choice}");
        for (name, odd) in
            [("price", "nan"), ("recalibration", "-1"), ("max_shift", "nan"), ("precaution", "inf")]
        {
            let said = refusal(&format!("budget = 0.1\nhorizon = 5\n{name} = {odd}"));
            assert!(said.contains(&format!("`{name}` is")) && said.contains("finite"), "{said}");
        }
        let too_much = refusal("budget = 0.1\nhorizon = 5\nmax_shift = 41");
        assert!(too_much.contains("max_shift"), "{too_much}");
        let least = ShieldSettings::parse("budget = 1\nhorizon = 5").unwrap();
        assert_eq!((least.price, least.adaptation.rate), (1.0, 2.0));
        assert_eq!((least.spec.budget, least.spec.fallback), (1.0, Fallback::BestAdmissible));
    }
}

//! A conversation of the shield with the reference in Python: the same questions to both, and their answers side by side.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use cpss_shield::{Decision, Fallback, GainSpec, Shield, ShieldSpec, Verdict};

use crate::strategies::Moment;

/// What both sides are asked, and what the shield answered.
#[derive(Default)]
pub(crate) struct Transcript {
    pub(crate) questions: String,
    pub(crate) answers: Vec<Answer>,
}

pub(crate) enum Answer {
    Ready,
    Judged(Decision, Vec<f64>),
    Settled(String),
    /// Numbers of risk mode, and the word that follows them.
    Numbers(Vec<f64>, &'static str),
}

impl Transcript {
    pub(crate) fn open(&mut self, spec: ShieldSpec) -> Shield {
        let (form, k_density, k_change, floor) = match spec.gain {
            GainSpec::Constant => ("constant", 0.0, 0.0, 1.0),
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
        self.questions += &format!(
            "shield {} {} {} {} {form} {} {} {} {} {fallback} {} {} {} {} {}\n",
            bits(spec.budget),
            spec.horizon,
            bits(spec.epsilon),
            bits(spec.tau_cap),
            bits(k_density),
            bits(k_change),
            bits(floor),
            bits(spec.smoothing),
            spec.mode,
            spec.last_resort,
            bits(spec.pace),
            spec.charge,
            bits(spec.price),
        );
        self.answers.push(Answer::Ready);
        Shield::new(spec).unwrap()
    }

    pub(crate) fn judge(&mut self, shield: &Shield, moment: &Moment) -> Decision {
        let list = |values: &[f64]| values.iter().map(|&x| bits(x) + " ").collect::<String>();
        self.questions += &format!(
            "judge {} {} {}/ {}\n",
            moment.proposal,
            bits(moment.density),
            list(&moment.costs),
            list(&moment.preferences),
        );
        let decision = shield.judge(&moment.situation()).unwrap();
        self.answers.push(Answer::Judged(decision, moment.costs.clone()));
        decision
    }

    pub(crate) fn settle(&mut self, shield: &mut Shield, decision: Decision, observed: f64) {
        self.questions += &format!("settle {}\n", bits(observed));
        let settled = shield.settle(decision, observed).unwrap();
        // Above that the bound may overflow, and the shield then vouches for nothing.
        assert!(settled.envelope_holds || shield.ledger().spent() > 1e307);
        self.answers.push(Answer::Settled(format!(
            "{} {} {} {} {} {} exact",
            bits(settled.charge),
            bits(settled.excess),
            u8::from(settled.mispredicted),
            bits(settled.remaining),
            bits(shield.ledger().spent()),
            bits(settled.envelope),
        )));
    }

    /// Asks the reference, and hands each of its lines to `agree` beside the shield's answer.
    pub(crate) fn compare(self, agree: impl Fn(&Answer, &str) -> bool) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference.py");
        let mut python = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs the reference");
        // Both pipes are finite, so the questions need a thread of their own.
        let (mut stdin, questions) = (python.stdin.take().unwrap(), self.questions.clone());
        let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()).unwrap());
        let lines = BufReader::new(python.stdout.take().unwrap()).lines();
        let mut compared = 0;
        for ((answer, line), question) in self.answers.iter().zip(lines).zip(self.questions.lines())
        {
            let line = line.unwrap();
            assert!(
                agree(answer, &line),
                "{question}\nreference: {line}\nshield:    {}",
                answer.text()
            );
            compared += 1;
        }
        writer.join().unwrap();
        assert!(python.wait().unwrap().success());
        assert_eq!(compared, self.answers.len(), "the reference answered every question");
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        match self {
            Answer::Ready => "ready".into(),
            Answer::Settled(text) => text.clone(),
            Answer::Numbers(numbers, word) => {
                let numbers: Vec<String> = numbers.iter().map(|&x| bits(x)).collect();
                format!("{} {word}", numbers.join(" ")).trim_end().to_owned()
            }
            Answer::Judged(decision, _) => format!(
                "{} {} {} {}",
                verdict_and_action(decision),
                bits(decision.threshold()),
                bits(decision.tau_budget()),
                bits(decision.gain()),
            ),
        }
    }
}

pub(crate) fn verdict_and_action(decision: &Decision) -> String {
    let (verdict, reason) = match decision.verdict() {
        Verdict::Admit => ("admit", "-".into()),
        Verdict::Replace(reason) => ("replace", format!("{reason:?}")),
        Verdict::Infeasible(reason) => ("infeasible", format!("{reason:?}")),
    };
    format!("{verdict} {reason} {}", decision.executed())
}

pub(crate) fn bits(value: f64) -> String {
    format!("{:016x}", value.to_bits())
}

pub(crate) fn number(word: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(word, 16).unwrap())
}

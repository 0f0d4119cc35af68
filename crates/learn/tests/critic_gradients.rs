//! Contract: a critic's logits, loss and gradients are those of PyTorch, scene by scene with different numbers of
//! items, and a batch says what its scenes say one by one.
//!
//! The fixture is made by `scripts/pytorch_critic.py`.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod seal;

use std::collections::{BTreeMap, HashMap};

use cpss_learn::critic::pass::{Batch, Pass};
use cpss_learn::critic::scale::Scale;
use cpss_learn::critic::{Critic, Scratch, Shape, probability};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use seal::unsealed;
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    shape: Shape,
    fixed: Vec<Vec<f32>>,
    items: Vec<Vec<f32>>,
    actions: Vec<usize>,
    targets: Vec<f32>,
    logits: Vec<Vec<f32>>,
    loss: f32,
    layers: BTreeMap<String, LayerFixture>,
}

#[derive(Deserialize)]
struct LayerFixture {
    weight: Vec<f32>,
    bias: Vec<f32>,
    by_weight: Vec<f32>,
    by_bias: Vec<f32>,
}

impl Fixture {
    fn load() -> Fixture {
        serde_json::from_str(include_str!("fixtures/pytorch_critic.json")).unwrap()
    }

    fn critic(&self) -> Critic {
        let bytes =
            |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let mut tensors = Vec::new();
        for (name, layer) in &self.layers {
            let (rows, columns) = (layer.bias.len(), layer.weight.len() / layer.bias.len());
            tensors.push((format!("{name}.weight"), vec![rows, columns], bytes(&layer.weight)));
            tensors.push((format!("{name}.bias"), vec![rows], bytes(&layer.bias)));
        }
        let views = tensors.iter().map(|(name, shape, data)| {
            (name, TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
        });
        let about = [
            ("format", "cpss critic 1".to_owned()),
            ("shape", serde_json::to_string(&self.shape).unwrap()),
            ("shift", "0".to_owned()),
        ];
        let about: HashMap<String, String> =
            about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let file = safetensors::serialize(views, Some(about)).unwrap();
        Critic::from_bytes(&file).unwrap().0
    }

    fn batch(&self) -> Batch {
        let mut batch = Batch::default();
        for (fixed, items) in self.fixed.iter().zip(&self.items) {
            batch.push(fixed.iter().copied(), items.iter().copied(), self.shape.item);
        }
        batch
    }
}

#[test]
fn logits_loss_and_gradients_agree_with_pytorch() {
    let fixture = Fixture::load();
    let (critic, batch) = (fixture.critic(), fixture.batch());
    let mut pass = Pass::default();
    pass.forward(&critic, &batch);
    let (mut loss, mut by_logit) = (0.0, Vec::new());
    let n = batch.len() as f32;
    for (scene, expected) in fixture.logits.iter().enumerate() {
        for (action, expected) in expected.iter().enumerate() {
            let logit = pass.logit(scene, action);
            assert!((logit - expected).abs() < 1e-5, "{scene} {action}: {logit} is not {expected}");
        }
        let (logit, y) = (pass.logit(scene, fixture.actions[scene]), fixture.targets[scene]);
        loss += (logit.max(0.0) - logit * y + (-logit.abs()).exp().ln_1p()) / n;
        by_logit.push((probability(logit) as f32 - y) / n);
    }
    assert!((loss - fixture.loss).abs() < 1e-6, "{loss} is not {}", fixture.loss);
    let mut gradients = vec![f32::NAN; critic.parameters().len()];
    // Padding is not written, and has to be zero before.
    gradients.fill(0.0);
    pass.backward(&critic, &batch, &fixture.actions, &by_logit, &mut gradients);
    let named = critic.named(&gradients);
    assert_eq!(named.len(), fixture.layers.len());
    for (name, by_weight, by_bias) in named {
        let expected = &fixture.layers[&name];
        let pairs = by_weight.iter().zip(&expected.by_weight);
        for (ours, theirs) in pairs.chain(by_bias.iter().zip(&expected.by_bias)) {
            assert!((ours - theirs).abs() < 1e-6, "{name}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn a_batch_says_what_its_scenes_say_one_by_one() {
    let fixture = Fixture::load();
    let mut critic = fixture.critic();
    critic.set_scale(Scale { shift: 0.7, lift: 0.4 });
    let mut pass = Pass::default();
    pass.forward(&critic, &fixture.batch());
    let mut risks = [0.0; 3];
    for (scene, (fixed, items)) in fixture.fixed.iter().zip(&fixture.items).enumerate() {
        critic.risks(fixed, items, &mut Scratch::default(), &mut risks);
        let mut batch = [0.0; 3];
        critic.scaled((0..3).map(|action| pass.logit(scene, action)), &mut batch);
        for (action, (risk, expected)) in risks.iter().zip(batch).enumerate() {
            assert!((risk - expected).abs() < 1e-6, "{scene} {action}: {risk} is not {expected}");
        }
    }
}

#[test]
fn a_number_that_is_none_risks_everything() {
    let fixture = Fixture::load();
    let critic = fixture.critic();
    let mut risks = [0.0; 3];
    for bad in [f32::NAN, f32::INFINITY] {
        let mut fixed = fixture.fixed[0].clone();
        fixed[1] = bad;
        critic.risks(&fixed, &fixture.items[0], &mut Scratch::default(), &mut risks);
        assert_eq!(risks, [1.0; 3]);
        let mut items = fixture.items[0].clone();
        items[5] = bad;
        critic.risks(&fixture.fixed[0], &items, &mut Scratch::default(), &mut risks);
        assert_eq!(risks, [1.0; 3]);
    }
}

#[test]
fn what_is_saved_is_loaded_and_damage_is_refused_by_name() {
    let fixture = Fixture::load();
    let mut critic = fixture.critic();
    critic.set_scale(Scale::shifted(-0.25));
    let about = BTreeMap::from([("made".to_owned(), "in a test".to_owned())]);
    // Without a lift it is a file as of before there were any; with one, who does not know of lifts refuses it.
    let says = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    let plain = critic.to_bytes(&about);
    assert!(says(&plain, b"cpss critic 1") && !says(&plain, b"lift"));
    assert_eq!(Critic::from_bytes(&plain).unwrap().0, critic);
    critic.set_scale(Scale { shift: -0.25, lift: 0.75 });
    let bytes = critic.to_bytes(&about);
    assert!(says(&bytes, b"cpss critic 2"));
    assert_eq!(bytes, critic.to_bytes(&about));
    let (same, told) = Critic::from_bytes(&bytes).unwrap();
    assert_eq!((same, told), (critic.clone(), about.clone()));
    let refusal = |bytes: &[u8]| Critic::from_bytes(bytes).unwrap_err().to_string();
    assert!(refusal(&bytes[..bytes.len() - 3]).contains("not whole"), "{}", refusal(&bytes[..9]));
    assert!(refusal(b"").contains("cannot be read"));
    let mut flipped = bytes.clone();
    let middle = flipped.len() - 1000;
    flipped[middle] ^= 1;
    assert!(refusal(&flipped).contains("not those that were written"), "{}", refusal(&flipped));
    // Who has no checksum of ours is read, and refused by what it says.
    let place = |text: &[u8]| bytes.windows(text.len()).position(|part| part == text).unwrap();
    let at = place(b"cpss critic 2");
    let lift = place(b"\"0.75\"") + 1;
    let bytes = unsealed(bytes.clone());
    let mut foreign = bytes.clone();
    foreign[at..at + 4].copy_from_slice(b"else");
    assert!(refusal(&foreign).contains("else critic 2"), "{}", refusal(&foreign));
    for senseless in [b"-0.7", b"-inf", b" NaN"] {
        let mut odd = bytes.clone();
        odd[lift..lift + 4].copy_from_slice(senseless);
        assert!(refusal(&odd).contains("metadata entry"), "{}", refusal(&odd));
    }
    let mut poisoned = bytes.clone();
    let end = poisoned.len();
    poisoned[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refusal(&poisoned).contains("NaN"), "{}", refusal(&poisoned));
}

//! Is a memory file what it says, and a fleet's what its cars have found?

use super::*;
use crate::play::critic::RiskSource;
use cpss_highway::TaskId;
use cpss_shield::Surprise;

fn file() -> MemoryFile {
    let risk = RiskSource::Drift.load(TaskId::MergeV0).unwrap();
    MemoryFile::new(&risk, MemorySettings::new(0.5)).unwrap()
}

/// What a car has found after one episode with these surprises.
fn lived(file: &MemoryFile, surprises: &[f64]) -> MemoryFile {
    let mut memory = file.memory().unwrap();
    surprises.iter().for_each(|surprise| memory.learn(Surprise::of(*surprise)));
    memory.end_episode(None);
    MemoryFile { memory: MemoryLine::of(&memory), ..file.clone() }
}

#[test]
fn what_is_written_is_read_back_and_an_edit_is_refused() {
    let known = lived(&file(), &[0.3, -0.1, 1.0 / 3.0]);
    let text = known.text().unwrap();
    assert_eq!(MemoryFile::parse(text.as_bytes()).unwrap(), known);
    let refusal = |text: &str| format!("{:#}", MemoryFile::parse(text.as_bytes()).unwrap_err());
    let edited = text.replace("\"episodes\": 1,", "\"episodes\": 2,");
    assert!(edited != text && refusal(&edited).contains("it was edited"), "{}", refusal(&edited));
    let hash = known.sha256();
    assert!(refusal(&text.replace(&hash, &hash.replace(['a', 'b'], "c"))).contains("edited"));
    assert!(refusal(&text[..text.len() / 2]).contains("no memory"));
    assert!(refusal("{}").contains("no memory"));
    let newer = text.replace("\"cpss_memory\": 1", "\"cpss_memory\": 9");
    assert!(refusal(&newer).contains("version 9"), "{}", refusal(&newer));
    // Hashed anew, and still nothing that a memory can hold.
    let mut forged = known.clone();
    forged.memory.recalibration.shift = 1e9;
    assert!(refusal(&forged.text().unwrap()).contains("recalibration.shift"));
}

#[test]
fn a_fleet_is_one_car_that_lived_through_all_of_it() {
    let base = lived(&file(), &[0.2]);
    let (one, two) = (lived(&base.fork().unwrap(), &[0.5]), lived(&base.fork().unwrap(), &[0.25]));
    let row = lived(&lived(&base, &[0.5]), &[0.25]).memory().unwrap();
    let name = |name: &str, file: &MemoryFile| (name.to_owned(), file.clone());
    let fleet = MemoryFile::merge(&[name("one", &one), name("two", &two)]).unwrap();
    let joint = fleet.memory().unwrap();
    assert_eq!((joint.episodes(), joint.evidence().seen()), (3, 3));
    assert!((joint.evidence().value() - row.evidence().value()).abs() < 1e-12);
    assert!((joint.recalibration().shift() - row.recalibration().shift()).abs() < 1e-12);
    assert_eq!(fleet.base, None, "it is a base itself");
    // Two that have not driven yet are alike, and add nothing.
    let idle = ["three", "four"].map(|car| name(car, &base.fork().unwrap()));
    let with_idle = [&[name("one", &one), name("two", &two)], &idle[..]].concat();
    assert_eq!(MemoryFile::merge(&with_idle).unwrap(), fleet);
    let refusal = |cars: &[(String, MemoryFile)]| MemoryFile::merge(cars).unwrap_err().to_string();
    assert!(refusal(&[name("one", &one), name("copy", &one)]).contains("count twice"));
    assert!(refusal(&[name("base", &base)]).contains("was not forked"));
    let stranger = lived(&file().fork().unwrap(), &[0.5]);
    assert!(refusal(&[name("one", &one), name("x", &stranger)]).contains("the same memory"));
    let mut slower = two.clone();
    slower.settings.rate = 0.25;
    assert!(refusal(&[name("one", &one), name("two", &slower)]).contains("learns by"));
}

#[test]
fn a_file_is_one_runs_alone_and_of_one_critic() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("car.json");
    let risk = RiskSource::Drift.load(TaskId::MergeV0).unwrap();
    let settings = MemorySettings::new(0.5);
    let mut keeper = Keeper::open(&place, &risk, settings).unwrap();
    let refusal = |risk: &LearnedRisk, settings| {
        format!("{:#}", Keeper::open(&place, risk, settings).unwrap_err())
    };
    assert!(refusal(&risk, settings).contains("in use"));
    let mut memory = keeper.file.memory().unwrap();
    memory.end_episode(Some(Surprise::of(0.5)));
    keeper.keep(&memory).unwrap();
    drop(keeper);
    assert_eq!(Keeper::open(&place, &risk, settings).unwrap().line().episodes, 1);
    let other = RiskSource::Stationary.load(TaskId::MergeV0).unwrap();
    assert!(refusal(&other, settings).contains("about the critic"));
    assert!(refusal(&risk, MemorySettings::new(0.1)).contains("learns by"));
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing but the memory is left"
    );
}

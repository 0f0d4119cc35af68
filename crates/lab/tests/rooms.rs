//! Contract: the lab's rooms, and the modules in them, use each other in one direction only.
//!
//! Read from the sources: every path that begins with `crate` or `super`, and every `use` of a child, leads from one
//! module to another. A module is a room's own file (`trace.rs`) or what stands right below it (`trace/audit.rs` with
//! all of `trace/audit/`); within a module files may know each other. Tests may use anything.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_module_depends_on_itself_through_others() {
    let sources = sources();
    assert!(sources.len() > 50, "only {} files were found", sources.len());
    let modules = graph(&sources, 2);
    assert_eq!(cycle(&modules), None);
    // What is known to be there is seen.
    assert!(modules["play::episode"].contains("play::arm"));
    assert!(modules["trace::writer"].contains("play::observer"));
    assert!(modules["commands::evaluate"].contains("measure::contest"));
}

#[test]
fn no_room_depends_on_itself_through_others() {
    let rooms = graph(&sources(), 1);
    assert_eq!(cycle(&rooms), None);
    for bottom in ["files", "record", "tasks", "terminal"] {
        assert_eq!(rooms[bottom], BTreeSet::new(), "{bottom}");
    }
    assert!(rooms.values().all(|used| !used.contains("commands")), "commands are used by nobody");
}

#[test]
fn a_cycle_is_found() {
    let source = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut sources = vec![
        source("a", "pub mod one;\nuse crate::b::two::{Two, other};"),
        source("a::one", "/// See crate::b.\nfn f() {}\n#[cfg(test)]\nuse crate::b::two;"),
        source("b", "use two::Two;"),
        source("b::two", "use std::fmt;"),
    ];
    assert_eq!(cycle(&graph(&sources, 2)), None);
    sources[3].1 = "fn f() { crate::a::g() }".to_owned();
    assert_eq!(cycle(&graph(&sources, 2)), Some(vec!["a".to_owned(), "b::two".to_owned()]));
    sources[3].1 = "use crate::{files, a::{self}};".to_owned();
    assert_eq!(cycle(&graph(&sources, 1)), Some(vec!["a".to_owned(), "b".to_owned()]));
    sources[3].1 = "use super::Two;".to_owned();
    assert_eq!(cycle(&graph(&sources, 2)), Some(vec!["b".to_owned(), "b::two".to_owned()]));
}

/// Every source file of the lab, by its module's path.
fn sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let module =
                if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
            if path.is_dir() {
                collect(&path, &module, found);
            } else if !["lib", "main", "tests"].contains(&name) {
                found.push((module, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    found
}

/// Who uses whom, seen from so many names of a path.
fn graph(sources: &[(String, String)], names: usize) -> Graph {
    let modules: BTreeSet<&str> = sources.iter().map(|(module, _)| module.as_str()).collect();
    let short = |module: &str| module.split("::").take(names).collect::<Vec<_>>().join("::");
    let mut graph = Graph::new();
    for (module, text) in sources {
        let used = graph.entry(short(module)).or_default();
        let targets = paths(text).into_iter().filter_map(|path| target(module, &path, &modules));
        used.extend(targets.map(|target| short(&target)).filter(|target| *target != short(module)));
    }
    graph
}

/// The module that a path in a module leads to.
fn target(module: &str, path: &str, modules: &BTreeSet<&str>) -> Option<String> {
    let mut whole: Vec<&str> = module.split("::").collect();
    let mut names = path.split("::").peekable();
    match names.peek() {
        Some(&"crate") => whole.clear(),
        Some(&"super") => {}
        _ => whole.push("self"),
    }
    for name in names {
        match name {
            "crate" => {}
            "super" => drop(whole.pop()),
            name => whole.push(name),
        }
    }
    whole.retain(|name| *name != "self");
    (1..=whole.len())
        .rev()
        .map(|count| whole[..count].join("::"))
        .find(|path| modules.contains(path.as_str()))
}

/// Every path that is used, without comments and tests.
fn paths(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join(" ");
    let mut found = Vec::new();
    for used in code.split("use ").skip(1) {
        expand("", used.split(';').next().unwrap().trim(), &mut found);
    }
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let words = code.split(|sign: char| !is_name(sign));
    found.extend(
        words
            .filter(|word| word.starts_with("crate::") || word.starts_with("super::"))
            .map(str::to_owned),
    );
    found
}

/// Takes `a::{b, c::{d}}` apart.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let Some((before, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap().trim();
        found.push(format!("{prefix}{path}"));
        return;
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut depth, mut part) = (0, String::new());
    for sign in inner.chars().chain([',']) {
        depth += i32::from(sign == '{') - i32::from(sign == '}');
        if sign == ',' && depth == 0 {
            expand(&format!("{prefix}{}", before.trim()), std::mem::take(&mut part).trim(), found);
        } else {
            part.push(sign);
        }
    }
}

/// Some modules that depend on each other in a circle, in order.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    // Who uses nobody that is left can be in no circle; what remains is one, or leads into one.
    let mut left = graph.clone();
    loop {
        let known: BTreeSet<String> = left.keys().cloned().collect();
        let before = left.len();
        left.retain(|_, used| used.iter().any(|used| known.contains(used)));
        if left.len() == before {
            break;
        }
    }
    let mut way = vec![left.keys().next()?.clone()];
    loop {
        let next = left[way.last()?].iter().find(|used| left.contains_key(*used))?.clone();
        if let Some(start) = way.iter().position(|module| *module == next) {
            let mut circle = way.split_off(start);
            circle.sort();
            return Some(circle);
        }
        way.push(next);
    }
}

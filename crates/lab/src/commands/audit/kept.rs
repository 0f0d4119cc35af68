//! Is it the trace whose hash was kept?
//!
//! The chain shows that a trace is whole, not that it is the one that was written: a forger can hash anew. Who
//! kept the last hash elsewhere can tell. It is given by itself (`--expect`), or in a list by file name
//! (`--index`), such as the `traces/index.json` of a reproduction.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Options;
use crate::trace::audit::Problem;

/// Digits of a whole hash.
const WHOLE: usize = 64;

/// The hashes that were kept.
#[derive(Debug)]
pub(super) enum Kept {
    /// None.
    Nothing,
    /// Of one trace.
    One(String),
    /// By file name.
    Listed(Vec<(String, String)>),
}

impl Kept {
    /// What was given with the command.
    pub(super) fn load(options: &Options) -> Result<Kept> {
        if let Some(hash) = &options.expect {
            let is_hash =
                hash.len() == WHOLE && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
            ensure!(
                is_hash,
                "`--expect {hash}` is no hash: give all {WHOLE} digits at the end of the trace's last line"
            );
            let count = options.traces.len();
            ensure!(
                count == 1,
                "`--expect` is for one trace, not {count}; `--index FILE` is for several"
            );
            return Ok(Kept::One(hash.to_ascii_lowercase()));
        }
        let Some(path) = &options.index else { return Ok(Kept::Nothing) };
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read the index {}", path.display()))?;
        let index: Value = serde_json::from_slice(&bytes)
            .with_context(|| format!("the index {}", path.display()))?;
        let mut listed = Vec::new();
        collect(&index, &mut listed);
        ensure!(
            !listed.is_empty(),
            "the index {} lists no trace: it has no entry with `file` and `chain_end`",
            path.display()
        );
        Ok(Kept::Listed(listed))
    }

    /// Compares the end of a trace.
    pub(super) fn check(&self, place: &Path, chain_end: &str) -> Result<(), Problem> {
        let kept = match self {
            Kept::Nothing => return Ok(()),
            Kept::One(hash) => hash,
            Kept::Listed(listed) => {
                let name = place.file_name().unwrap_or_default().to_string_lossy();
                let Some((_, hash)) = listed.iter().find(|(file, _)| *file == name) else {
                    let found = name.into_owned();
                    return Err(Problem::Unknown { field: "file name in the index", found });
                };
                hash
            }
        };
        if kept == chain_end {
            return Ok(());
        }
        Err(Problem::Another { found: chain_end.to_owned(), kept: kept.clone() })
    }
}

/// Every file with a hash, wherever in the list it stands.
fn collect(value: &Value, listed: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, listed)),
        Value::Object(fields) => {
            let word = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
            listed.extend(word("file").zip(word("chain_end")));
            fields.values().for_each(|field| collect(field, listed));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_with_the_same_hash_passes() {
        let index = serde_json::json!([
            {"task": "merge-v0", "traces": [{"file": "a.jsonl", "chain_end": "12"}]},
            {"file": "b.jsonl", "chain_end": "34"},
        ]);
        let mut listed = Vec::new();
        collect(&index, &mut listed);
        let kept = Kept::Listed(listed);
        assert_eq!(kept.check(Path::new("x/a.jsonl"), "12"), Ok(()));
        assert_eq!(kept.check(Path::new("b.jsonl"), "34"), Ok(()));
        assert!(matches!(kept.check(Path::new("a.jsonl"), "34"), Err(Problem::Another { .. })));
        assert!(matches!(kept.check(Path::new("c.jsonl"), "12"), Err(Problem::Unknown { .. })));
        assert_eq!(Kept::Nothing.check(Path::new("c.jsonl"), "12"), Ok(()));
    }
}

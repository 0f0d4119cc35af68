//! How does a table become Markdown, LaTeX and CSV?
//!
//! A [`Table`] is typed: an entry knows whether it is words or a number, with or without what is known
//! about it. People get one column per quantity, programs get its value, interval and deviation in
//! columns of their own, unrounded.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::measure::estimate::{Cell, Estimate, METRICS, Metric, Results};

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its file's name.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Its rows, each as long as the columns.
    pub rows: Vec<Vec<Entry>>,
    /// What to know when reading it.
    pub note: String,
}

/// What stands in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Nothing.
    Empty,
    /// Words.
    Words(String),
    /// A bare number, with so many decimals.
    Number(f64, usize),
    /// A number with its interval and deviation.
    Estimate(Estimate, usize),
    /// The same as a percentage.
    Percent(Estimate),
}

impl Entry {
    /// Words.
    pub fn words(words: &str) -> Entry {
        Entry::Words(words.to_owned())
    }

    /// A metric of a cell.
    pub(crate) fn of(results: &Results<'_>, cell: Cell<'_>, metric: &Metric) -> Entry {
        Entry::estimate(results.estimate(cell, metric), metric.decimals)
    }

    /// An estimate, or nothing.
    pub fn estimate(found: Option<Estimate>, decimals: usize) -> Entry {
        found.map_or(Entry::Empty, |found| Entry::Estimate(found, decimals))
    }

    fn text(&self) -> String {
        let spread = |deviation: Option<f64>, decimals: usize| {
            deviation.map_or(String::new(), |deviation| format!(" ± {deviation:.decimals$}"))
        };
        match self {
            Entry::Empty => "–".to_owned(),
            Entry::Words(words) => words.clone(),
            Entry::Number(value, decimals) => format!("{value:.decimals$}"),
            Entry::Estimate(Estimate { value, interval: [low, high], deviation }, decimals) => {
                let spread = spread(*deviation, *decimals);
                format!("{value:.decimals$}{spread} [{low:.decimals$}, {high:.decimals$}]")
            }
            Entry::Percent(Estimate { value, interval: [low, high], .. }) => {
                let [value, low, high] = [value, low, high].map(|share| share * 100.0);
                format!("{value:.1} % [{low:.1}, {high:.1}]")
            }
        }
    }
}

impl Entry {
    /// For programs: nothing is `null`, an estimate has its interval and deviation, and nothing is rounded.
    fn json(&self) -> Value {
        match self {
            Entry::Empty => Value::Null,
            Entry::Words(words) => json!(words),
            Entry::Number(value, _) => json!(value),
            Entry::Estimate(found, _) | Entry::Percent(found) => {
                json!({ "value": found.value, "interval": found.interval, "deviation": found.deviation })
            }
        }
    }
}

impl Table {
    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| row.iter().map(Entry::json).collect::<Vec<_>>());
        json!({
            "name": self.name,
            "title": self.title,
            "columns": self.columns,
            "rows": rows.collect::<Vec<_>>(),
            "note": self.note,
        })
    }

    /// As Markdown, with its title and its note.
    pub(crate) fn markdown(&self) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!("\n{}\n", self.note) };
        format!("## {}\n\n{}{note}", self.title, self.rows_markdown())
    }

    /// Its columns and rows as Markdown.
    pub(crate) fn rows_markdown(&self) -> String {
        let rule = "---|".repeat(self.columns.len());
        let mut text = format!("| {} |\n|{rule}\n", self.columns.join(" | "));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(Entry::text).collect();
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }

    /// As LaTeX, for `booktabs`.
    pub(crate) fn latex(&self) -> String {
        let mut text = format!(
            "\\begin{{table}}[t]\n\\centering\n\\scriptsize\n\\caption{{{}. {}}}\n\\label{{tab:{}}}\n\
             \\begin{{tabular}}{{{}}}\n\\toprule\n",
            latex(&self.title),
            latex(&self.note),
            self.name,
            "l".repeat(self.columns.len())
        );
        let heads: Vec<String> = self.columns.iter().map(|column| latex(column)).collect();
        let _ = writeln!(text, "{} \\\\\n\\midrule", heads.join(" & "));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|entry| latex(&entry.text())).collect();
            let _ = writeln!(text, "{} \\\\", cells.join(" & "));
        }
        text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    }

    /// As CSV: every number unrounded, an estimate in four columns.
    pub fn csv(&self) -> String {
        let is_wide = |column: usize| {
            let wide = |entry: &Entry| matches!(entry, Entry::Estimate(..) | Entry::Percent(_));
            self.rows.iter().filter_map(|row| row.get(column)).any(wide)
        };
        let wide: Vec<bool> = (0..self.columns.len()).map(is_wide).collect();
        let heads = self.columns.iter().zip(&wide).flat_map(|(column, wide)| {
            let key = csv_key(column);
            match wide {
                true => ["", "_low", "_high", "_std"].map(|end| format!("{key}{end}")).to_vec(),
                false => vec![key],
            }
        });
        let mut text = heads.collect::<Vec<_>>().join(",") + "\n";
        for row in &self.rows {
            let cells = row.iter().zip(&wide).flat_map(|(entry, wide)| entry.csv(*wide));
            text += &(cells.collect::<Vec<_>>().join(",") + "\n");
        }
        text
    }
}

impl Entry {
    fn csv(&self, wide: bool) -> Vec<String> {
        let mut cells = match self {
            Entry::Empty => vec![String::new()],
            Entry::Words(words) if words.contains([',', '"']) => {
                vec![format!("\"{}\"", words.replace('"', "\"\""))]
            }
            Entry::Words(words) => vec![words.clone()],
            Entry::Number(value, _) => vec![value.to_string()],
            Entry::Estimate(found, _) | Entry::Percent(found) => {
                let Estimate { value, interval: [low, high], deviation } = found;
                let deviation = deviation.map_or(String::new(), |deviation| deviation.to_string());
                vec![value.to_string(), low.to_string(), high.to_string(), deviation]
            }
        };
        cells.resize(if wide { 4 } else { 1 }, String::new());
        cells
    }
}

/// A column's name as a key.
fn csv_key(column: &str) -> String {
    if let Some(metric) = METRICS.iter().find(|metric| metric.name == column) {
        return metric.key.to_owned();
    }
    let plain = column.to_lowercase().replace('η', "eta").replace('δ', "delta ");
    let plain = plain.replace("[m]", "m").replace("[m/s]", "m_per_s");
    let is_word = |sign: char| sign.is_alphanumeric();
    plain.split(|sign: char| !is_word(sign)).filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_")
}

fn latex(words: &str) -> String {
    let mut text = String::new();
    // Two stars are Markdown's emphasis, one is a scale.
    for sign in words.replace("**", "").chars() {
        match sign {
            '%' | '&' | '#' | '_' | '$' | '{' | '}' => text.extend(['\\', sign]),
            '±' => text += "$\\pm$",
            '–' => text += "--",
            '−' => text += "$-$",
            '≤' => text += "$\\le$",
            'η' => text += "$\\eta$",
            'γ' => text += "$\\gamma$",
            'Δ' => text += "$\\Delta$",
            '*' => text += "$\\times$",
            '`' => {}
            _ => text.push(sign),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let found = Estimate { value: 0.125, interval: [0.1, 0.2], deviation: Some(0.05) };
        let alone = Estimate { deviation: None, ..found };
        Table {
            name: "small",
            title: "A small_one".to_owned(),
            columns: ["task", "Speed [m/s]", "reduction"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![Entry::words("a, b"), Entry::Estimate(found, 2), Entry::Percent(found)],
                vec![Entry::words("50 %"), Entry::Estimate(alone, 3), Entry::Empty],
            ],
            note: "Mean ± deviation.".to_owned(),
        }
    }

    #[test]
    fn people_read_one_column_per_quantity() {
        assert_eq!(
            table().markdown(),
            "## A small_one\n\n| task | Speed [m/s] | reduction |\n|---|---|---|\n\
             | a, b | 0.12 ± 0.05 [0.10, 0.20] | 12.5 % [10.0, 20.0] |\n\
             | 50 % | 0.125 [0.100, 0.200] | – |\n\nMean ± deviation.\n"
        );
        let latex = table().latex();
        assert!(latex.contains("A small\\_one. Mean $\\pm$ deviation."), "{latex}");
        assert!(latex.contains("50 \\% & 0.125 [0.100, 0.200] & -- \\\\\n"), "{latex}");
    }

    #[test]
    fn programs_read_every_number_unrounded() {
        assert_eq!(
            table().csv(),
            "task,mean_speed,mean_speed_low,mean_speed_high,mean_speed_std,\
             reduction,reduction_low,reduction_high,reduction_std\n\
             \"a, b\",0.125,0.1,0.2,0.05,0.125,0.1,0.2,0.05\n50 %,0.125,0.1,0.2,,,,,\n"
        );
    }
}

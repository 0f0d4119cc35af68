//! How do words and tables become HTML?
//!
//! A [`Table`] keeps what it knows about each number: the value is set apart from its spread, and the
//! unrounded one stands in `data-value`, so that a reader with a program gets what the CSV has. On a
//! narrow screen a row becomes a card, for which each cell carries its column's name.

use std::fmt::Write as _;

use crate::measure::estimate::Estimate;
use crate::report::table::{Entry, Table};

/// Text, for between tags and in quoted attributes.
pub(crate) fn escaped(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// A table with its title as caption and its note below.
pub(crate) fn table(table: &Table) -> String {
    table_named(table.name, table)
}

/// The same under a name that no other table of the page has.
pub(crate) fn table_named(name: &str, table: &Table) -> String {
    // Where columns are many, what is known about a number goes below it.
    let many = if table.columns.len() > 7 { " many" } else { "" };
    let mut html = format!(
        "<figure class=\"table{many}\" id=\"table-{}\"><table>\n<caption>{}</caption>\n<thead><tr>",
        escaped(name),
        escaped(&table.title)
    );
    // Writing to a string cannot fail, here and below.
    for (place, column) in table.columns.iter().enumerate() {
        let is_words = |row: &Vec<Entry>| matches!(row.get(place), Some(Entry::Words(_)));
        let class = if table.rows.iter().any(is_words) { " class=\"words\"" } else { "" };
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", column_head(column));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        let is_bold =
            |entry: &Entry| matches!(entry, Entry::Words(words) if words.starts_with("**"));
        let is_total = row.iter().any(is_bold);
        html += if is_total { "<tr class=\"total\">" } else { "<tr>" };
        for (place, (entry, column)) in row.iter().zip(&table.columns).enumerate() {
            html += &cell(entry, column, place == 0);
        }
        html += "</tr>\n";
    }
    html += "</tbody></table>";
    if !table.note.is_empty() {
        let _ = write!(html, "\n<figcaption>{}</figcaption>", escaped(&table.note));
    }
    html + "</figure>\n"
}

/// One cell. What an entry shows is what Markdown shows, in parts.
pub(crate) fn cell(entry: &Entry, column: &str, is_head: bool) -> String {
    let label = escaped(column);
    let whose = if column.starts_with("paper") { " paper" } else { "" };
    match entry {
        Entry::Words(words) if is_head => {
            let words = escaped(&words.replace("**", ""));
            format!("<th scope=\"row\">{words}</th>")
        }
        Entry::Empty => format!("<td data-label=\"{label}\" class=\"empty\">–</td>"),
        // Two stars are Markdown's emphasis, which a row of totals has anyway.
        Entry::Words(words) => {
            let words = escaped(&words.replace("**", ""));
            format!("<td data-label=\"{label}\" class=\"words\">{words}</td>")
        }
        Entry::Number(value, decimals) => format!(
            "<td data-label=\"{label}\" class=\"number{whose}\" data-value=\"{value}\">\
             <span class=\"value\">{value:.decimals$}</span></td>"
        ),
        Entry::Estimate(found, decimals) => {
            let Estimate { value, interval: [low, high], deviation } = found;
            let spread = deviation.map_or(String::new(), |deviation| {
                format!(" <span class=\"spread\">± {deviation:.decimals$}</span>")
            });
            format!(
                "<td data-label=\"{label}\" class=\"number\" data-value=\"{value}\">\
                 <span class=\"value\">{value:.decimals$}</span>{spread} \
                 <span class=\"interval\">[{low:.decimals$}, {high:.decimals$}]</span></td>"
            )
        }
        Entry::Percent(Estimate { value, interval: [low, high], .. }) => format!(
            "<td data-label=\"{label}\" class=\"number\" data-value=\"{value}\">\
             <span class=\"value\">{:.1} %</span> \
             <span class=\"interval\">[{:.1}, {:.1}]</span></td>",
            value * 100.0,
            low * 100.0,
            high * 100.0
        ),
    }
}

/// A column's name; its unit may break onto a line of its own.
fn column_head(column: &str) -> String {
    escaped(column).replace(" [", " <span class=\"unit\">[").replace(']', "]</span>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_written_breaks_out_of_its_place() {
        assert_eq!(escaped("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
        let table = super::table(&Table {
            name: "small",
            title: "a < b".to_owned(),
            columns: vec!["task".to_owned(), "x\"y [m]".to_owned()],
            rows: vec![vec![Entry::words("**all**"), Entry::Number(0.125, 2)]],
            note: String::new(),
        });
        assert!(table.contains("<caption>a &lt; b</caption>"), "{table}");
        assert!(table.contains("<tr class=\"total\"><th scope=\"row\">all</th>"), "{table}");
        assert!(table.contains("data-label=\"x&quot;y [m]\""), "{table}");
        assert!(
            table.contains("data-value=\"0.125\"><span class=\"value\">0.12</span>"),
            "{table}"
        );
    }
}

//! How do template, styles, scripts and data become one file?
//!
//! The page's sources are in `viewer/`, small files that an editor and a type checker understand:
//! ES modules. A module cannot be loaded from a file on disk, so [`page`] puts them into one script,
//! each after those that it imports, without their `import` and `export` words. Data goes in as JSON
//! in which no `<` is left, so nothing in it can end its script.
//!
//! **Invariants:** the page asks for nothing over the network, and says so to the browser (its
//! `Content-Security-Policy`), which then would refuse.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Serialize;

use super::html::escaped;

/// A file of the viewer. Like `tasks` and `experiments` it is linked into this crate's folder, so that it is published with it.
macro_rules! viewer {
    ($name:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/viewer/", $name))
    };
}

const TEMPLATE: &str = viewer!("page.html");

const STYLES: [&str; 3] = [viewer!("page.css"), viewer!("player.css"), viewer!("print.css")];

/// The player's markup, for the body of a page.
pub(crate) const PLAYER: &str = viewer!("player.html");

macro_rules! modules {
    ($($name:literal),* $(,)?) => {
        [$(($name, viewer!($name))),*]
    };
}

/// The scripts, each after those that it imports.
const MODULES: [(&str, &str); 15] = modules![
    "episode.js",
    "outcome.js",
    "shield.js",
    "words.js",
    "clock.js",
    "road.js",
    "marks.js",
    "scene.js",
    "svg.js",
    "plots.js",
    "certificate.js",
    "stage.js",
    "player.js",
    "picker.js",
    "main.js",
];

/// One self-contained page.
pub(crate) fn page(title: &str, body: &str, data: &impl Serialize) -> Result<String> {
    let data = serde_json::to_string(data).context("the page's data")?.replace('<', "\\u003c");
    let mut page = String::with_capacity(data.len() + body.len() + (1 << 17));
    let mut rest = TEMPLATE;
    for (place, text) in [
        ("title", escaped(title)),
        ("styles", STYLES.concat()),
        ("body", body.to_owned()),
        ("data", data),
        ("script", script()),
    ] {
        let (before, after) = rest
            .split_once(&format!("<!-- cpss: {place} -->"))
            .with_context(|| format!("the template has no place for `{place}`"))?;
        page += before;
        page += &text;
        rest = after;
    }
    Ok(page + rest)
}

/// A page of words and tables alone, without a player or any script.
pub(crate) fn plain(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        escaped(title),
        STYLES.concat()
    )
}

/// All modules as one script.
fn script() -> String {
    let mut script = String::new();
    for (name, text) in MODULES {
        // Writing to a string cannot fail.
        let _ = write!(script, "\n// {name}\n{}", joined(text));
    }
    script
}

/// A module's text without its imports, and its exports without the word.
fn joined(module: &str) -> String {
    let mut text = String::new();
    let mut in_import = false;
    for line in module.lines() {
        in_import |= line.starts_with("import ");
        if !in_import {
            text += line.strip_prefix("export ").unwrap_or(line);
            text.push('\n');
        }
        in_import &= !line.ends_with(';');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script() {
        let evil = ["</script><script>alert(1)</script>", "<!--"];
        let page = page("t & u", "<p>body</p>", &evil).unwrap();
        assert!(page.contains(r#"["\u003c/script>\u003cscript>alert(1)"#));
        assert!(page.contains("<title>t &amp; u</title>") && page.contains("<p>body</p>"));
        assert!(!page.contains("<!-- cpss:"));
    }

    #[test]
    fn every_module_follows_those_that_it_imports() {
        for (place, (name, text)) in MODULES.iter().enumerate() {
            let imported = text.split(" from \"./").skip(1).map(|rest| rest.split('"').next());
            for import in imported.flatten() {
                let found = MODULES.iter().position(|(known, _)| *known == import);
                assert!(found.is_some_and(|found| found < place), "{name} imports {import}");
            }
        }
        let script = script();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
        // What would end the script or ask for something elsewhere.
        for word in ["</script", "<!--", "fetch(", "XMLHttpRequest", "import("] {
            assert!(!script.contains(word), "{word}");
        }
    }

    #[test]
    fn imports_go_and_exports_stay_as_names() {
        let module =
            "import {\n  a,\n  b,\n} from \"./x.js\";\nexport const c = a;\nconst d = b;\n";
        assert_eq!(joined(module), "const c = a;\nconst d = b;\n");
    }
}

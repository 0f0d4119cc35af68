//! Contract: the header that users include is the one that cbindgen makes of the sources.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::Path;

/// In the order of the header.
const SOURCES: [&str; 5] = ["status", "settings", "answers", "shield", "critic"];

#[test]
fn the_header_is_what_cbindgen_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(root.join("src").join(source).with_extension("rs"));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let header = root.join("include/cpss.h");
    if std::env::var_os("CPSS_WRITE_HEADER").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let made = String::from_utf8(made).unwrap();
    let kept = std::fs::read_to_string(&header).unwrap_or_default();
    assert!(
        made == kept,
        "include/cpss.h is not what cbindgen makes of the sources; make it anew with \
         CPSS_WRITE_HEADER=1 cargo test -p cpss-ffi --test header"
    );
    // Every function that is exported is there.
    for source in SOURCES {
        let text = std::fs::read_to_string(root.join("src").join(format!("{source}.rs"))).unwrap();
        for after in text.split("#[unsafe(no_mangle)]").skip(1) {
            let name = after.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            assert!(made.contains(&format!("{name}(")), "{name}");
        }
    }
}

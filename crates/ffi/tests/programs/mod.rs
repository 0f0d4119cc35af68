//! The example programs, compiled as a user would against both libraries.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How a program is bound to the library.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Static,
    Shared,
}

pub(crate) const BOTH: [Link; 2] = [Link::Static, Link::Shared];

/// A compiled program, in a folder that goes with it.
pub(crate) struct Program {
    path: PathBuf,
    libraries: PathBuf,
    _folder: tempfile::TempDir,
}

impl Program {
    /// Compiles `examples/NAME`, warnings being errors.
    pub(crate) fn compile(name: &str, link: Link) -> Program {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (variable, usual, standard) = match name.ends_with(".cpp") {
            true => ("CXX", "c++", "-std=c++17"),
            false => ("CC", "cc", "-std=c11"),
        };
        let compiler = env::var(variable).unwrap_or_else(|_| usual.to_owned());
        let folder = tempfile::tempdir().unwrap();
        let (path, libraries) = (folder.path().join("program"), libraries());
        let mut command = Command::new(&compiler);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", standard, "-O1", "-I"]);
        command.arg(root.join("include")).arg(root.join("examples").join(name));
        match link {
            Link::Static => command.arg(libraries.join("libcpss_ffi.a")),
            Link::Shared => command.arg("-L").arg(&libraries).arg("-lcpss_ffi"),
        };
        command.args(["-lm", "-lpthread", "-ldl", "-o"]).arg(&path);
        let output = command.output().unwrap_or_else(|error| {
            panic!(
                "the C ABI is tested with a compiler, and `{compiler}` cannot be run ({error}): install one \
                 (Debian: apt-get install gcc g++), or name one in {variable}"
            )
        });
        assert!(output.status.success(), "{name}, {link:?}: {}", text(&output.stderr));
        Program { path, libraries, _folder: folder }
    }

    /// Runs it.
    pub(crate) fn run(&self, arguments: &[&Path], input: &str) -> Output {
        let mut command = Command::new(&self.path);
        command.args(arguments).env("LD_LIBRARY_PATH", &self.libraries);
        command.env("DYLD_LIBRARY_PATH", &self.libraries);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Written from beside, so that neither waits for the other when both have much to say.
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = std::thread::spawn(move || drop(pipe.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Runs it, and expects that it goes well.
    pub(crate) fn answer(&self, arguments: &[&Path], input: &str) -> String {
        let output = self.run(arguments, input);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where cargo puts the libraries that belong to this test.
fn libraries() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_owned();
    assert!(folder.join("libcpss_ffi.a").exists(), "no library in {}", folder.display());
    folder
}

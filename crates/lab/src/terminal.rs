//! How does the command speak, when whoever listens may have left?
//!
//! `say!` writes a line of results to standard output, `note!` a line for the person to standard error;
//! [`Stdout`] is what `say!` writes to. `println!` and `eprintln!` panic when their stream fails, so the
//! whole crate is without them: a lint in `lib.rs` sees to that.
//!
//! **Invariants:** a reader that has left (`cpss audit ... | head -1`) changes neither what is done nor the exit
//! status: what is left to say is dropped, and the work goes on to its end. Results that cannot be
//! written for another reason, such as a full disk, are an error. Notes that cannot be written are not.

pub(crate) mod meter;

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Writes a line of results to standard output; an error if they are lost.
macro_rules! say {
    ($($words:tt)*) => { $crate::terminal::result(format_args!($($words)*)) };
}

/// Writes a line to standard error, for the person who waits.
macro_rules! note {
    ($($words:tt)*) => { $crate::terminal::aside(format_args!($($words)*)) };
}

pub(crate) use {note, say};

/// Standard output, for which a reader that has left is no failure.
#[derive(Debug)]
pub(crate) struct Stdout(io::StdoutLock<'static>);

impl Stdout {
    /// Standard output, for this thread alone until it is dropped.
    pub(crate) fn lock() -> Stdout {
        Stdout(io::stdout().lock())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_left(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_left(self.0.flush(), ())
    }
}

/// What was written, or all of it if nobody is there to read.
fn unless_left<T>(written: io::Result<T>, all: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(all),
        other => other,
    }
}

/// What `say!` does.
pub(crate) fn result(words: fmt::Arguments<'_>) -> Result<()> {
    let mut out = Stdout::lock();
    writeln!(out, "{words}")
        .and_then(|()| out.flush())
        .context("cannot write the results to standard output")
}

/// What `note!` does.
pub(crate) fn aside(words: fmt::Arguments<'_>) {
    // Results are what the command is for: it goes on where notes about them cannot be shown.
    let _ = writeln!(io::stderr().lock(), "{words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_has_left_is_no_failure() {
        let failed = |kind: ErrorKind| unless_left(Err(kind.into()), 3).map_err(|e| e.kind());
        assert_eq!(failed(ErrorKind::BrokenPipe), Ok(3));
        assert_eq!(failed(ErrorKind::StorageFull), Err(ErrorKind::StorageFull));
        assert_eq!(unless_left(Ok(2), 3).ok(), Some(2));
    }
}

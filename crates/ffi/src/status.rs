//! What went wrong, what does a caller do about it, and which library says so?
//!
//! Start at [`CpssStatus`]. **Invariant:** a number once given to a status is never given to another.

use std::ffi::{CStr, c_char};

/// How a call ended. 0 is success; everything else means that nothing was decided, charged or written beyond what
/// the call's own comment says.
///
/// In a control loop there is one answer to every code but 0: run your last resort for this
/// cycle. cpss_shield_decide already puts it into the decision that it returns.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssStatus {
    /// It went well.
    Ok = 0,
    /// A pointer that is needed is null, or not aligned for what it points to.
    Pointer = 1,
    /// A setting is out of its range; cpss_settings_fault names it.
    Setting = 2,
    /// There is no action, or there are more than the handle was made for.
    Actions = 3,
    /// The proposal is not one of the actions.
    Proposal = 4,
    /// The last resort is not one of the actions.
    LastResort = 5,
    /// The decision before has been neither settled nor withdrawn.
    Unsettled = 6,
    /// There is no decision to settle: none was made, or it was settled already.
    NothingToSettle = 7,
    /// Asked of a shield of costs what only a shield of risks has.
    NoRisk = 8,
    /// The file cannot be read.
    File = 9,
    /// The bytes are no critic; the call's text says why.
    Critic = 10,
    /// Other lengths than the critic's.
    Size = 11,
    /// Asked of one kind of critic what another kind answers.
    Kind = 12,
    /// Another thread is using this handle right now.
    Busy = 13,
    /// A bug in this library. The handle answers nothing else from now on: run the last resort, and make a new one.
    Broken = 14,
}

impl CpssStatus {
    fn text(code: u32) -> &'static CStr {
        match code {
            0 => c"it went well",
            1 => c"a pointer is null or not aligned",
            2 => c"a setting is out of its range; cpss_settings_fault names it",
            3 => c"there is no action, or more than the handle was made for",
            4 => c"the proposal is not one of the actions",
            5 => c"the last resort is not one of the actions",
            6 => c"the decision before has been neither settled nor withdrawn",
            7 => c"there is no decision to settle",
            8 => c"the shield was made without a critic's terms, so it has no account of risk",
            9 => c"the file cannot be read",
            10 => c"the bytes are no critic",
            11 => c"the lengths are not the critic's",
            12 => c"this kind of critic is asked by another function",
            13 => c"another thread is using this handle",
            14 => c"the library has a bug; make a new handle",
            _ => c"no such status",
        }
    }
}

/// A status in words, for people. The text lives as long as the program; any number may be asked.
#[unsafe(no_mangle)]
pub extern "C" fn cpss_error_text(code: u32) -> *const c_char {
    CpssStatus::text(code).as_ptr()
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The library's version, such as "0.1.0". The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn cpss_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

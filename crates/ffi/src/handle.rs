//! How does a pointer from C become something that may be used?
//!
//! A [`Handle`] owns what is behind an opaque pointer. [`Handle::with`] lets one caller in at a time, so two threads that
//! break the rule get a status and not a race, and it keeps panics inside. [`one`], [`many`], [`put`] and [`say`] follow
//! the plain pointers of a call after looking at them.
//!
//! **Invariants:** no reference to the inside exists twice; after a panic the inside is never seen again.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::status::CpssStatus;

const FREE: u8 = 0;
const TAKEN: u8 = 1;
const BROKEN: u8 = 2;

/// Something that one caller at a time may use.
pub(crate) struct Handle<T> {
    state: AtomicU8,
    inside: UnsafeCell<T>,
}

// SAFETY: the inside is reached only through `with`, which lets one caller in at a time; so sharing the handle is no
// more than sending its inside from thread to thread.
unsafe impl<T: Send> Sync for Handle<T> {}

impl<T> Handle<T> {
    pub(crate) fn new(inside: T) -> Handle<T> {
        Handle { state: AtomicU8::new(FREE), inside: UnsafeCell::new(inside) }
    }

    /// Does something with the inside, unless somebody else is at it.
    pub(crate) fn with(&self, act: impl FnOnce(&mut T) -> CpssStatus) -> CpssStatus {
        let taken = self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        match taken {
            Ok(_) => {}
            Err(BROKEN) => return CpssStatus::Broken,
            Err(_) => return CpssStatus::Busy,
        }
        // SAFETY: the state went from FREE to TAKEN just now, and only this call puts it back; so nobody else holds a
        // reference to the inside.
        let inside = unsafe { &mut *self.inside.get() };
        let result = catch_unwind(AssertUnwindSafe(|| act(inside)));
        let after = if result.is_ok() { FREE } else { BROKEN };
        self.state.store(after, Ordering::Release);
        result.unwrap_or(CpssStatus::Broken)
    }
}

/// Runs what has no handle yet, and keeps a panic inside.
pub(crate) fn contained(act: impl FnOnce() -> CpssStatus) -> CpssStatus {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(CpssStatus::Broken)
}

/// What a pointer points to; `None` if it is null or not aligned.
///
/// # Safety
///
/// A pointer that is neither points to a valid `T`, which nobody changes meanwhile.
pub(crate) unsafe fn one<'a, T>(pointer: *const T) -> Option<&'a T> {
    if !pointer.is_aligned() {
        return None;
    }
    // SAFETY: the caller's promise, and it is aligned; `as_ref` looks for null.
    unsafe { pointer.as_ref() }
}

/// A list; `None` if the pointer is null or not aligned. An empty list may be null.
///
/// # Safety
///
/// A pointer that is neither points to as many valid `T`, which nobody changes meanwhile.
pub(crate) unsafe fn many<'a, T>(pointer: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    if pointer.is_null() || !pointer.is_aligned() || !fits::<T>(count) {
        return None;
    }
    // SAFETY: the caller's promise; it is not null, aligned, and no longer than memory.
    Some(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// The same, to be written.
///
/// # Safety
///
/// As [`many`], and nobody else reads them meanwhile.
pub(crate) unsafe fn many_mut<'a, T>(pointer: *mut T, count: usize) -> Option<&'a mut [T]> {
    if pointer.is_null() || !pointer.is_aligned() || !fits::<T>(count) {
        return None;
    }
    // SAFETY: the caller's promise; it is not null, aligned, and no longer than memory.
    Some(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

fn fits<T>(count: usize) -> bool {
    count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
}

/// Whether something can be written there.
pub(crate) fn writable<T>(pointer: *mut T) -> bool {
    !pointer.is_null() && pointer.is_aligned()
}

/// Writes to a place, unless it is null or not aligned; whatever was there is not looked at.
///
/// # Safety
///
/// A pointer that is neither points to room for a `T`.
pub(crate) unsafe fn put<T: Copy>(pointer: *mut T, value: T) {
    if writable(pointer) {
        // SAFETY: the caller's promise; it is neither null nor misaligned.
        unsafe { pointer.write(value) }
    }
}

/// Writes as much of a text as there is room for, ended by a zero; nothing where there is no room.
///
/// # Safety
///
/// A pointer that is not null points to `room` bytes.
pub(crate) unsafe fn say(text: &str, pointer: *mut c_char, room: usize) {
    let Some(most) = room.checked_sub(1).filter(|_| !pointer.is_null()) else { return };
    let text = &text[..text.floor_char_boundary(most)];
    // SAFETY: the text and its zero are at most `room` bytes, and the two places cannot overlap, as one is ours.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast(), text.len());
        pointer.add(text.len()).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_never_again_after_a_panic() {
        let handle = Handle::new(1);
        let status = handle.with(|_| handle.with(|_| CpssStatus::Ok));
        assert_eq!(status, CpssStatus::Busy, "as a second thread would be told");
        assert_eq!(handle.with(|_| CpssStatus::Ok), CpssStatus::Ok);
        assert_eq!(handle.with(|_| panic!("on purpose")), CpssStatus::Broken);
        assert_eq!(handle.with(|_| CpssStatus::Ok), CpssStatus::Broken);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut room = [1 as c_char; 4];
        // SAFETY: as much room as is said.
        unsafe { say("aéé", room.as_mut_ptr(), room.len()) };
        assert_eq!(room.map(|byte| byte as u8), [b'a', 0xc3, 0xa9, 0]);
        // SAFETY: there is no room, so nothing is written.
        unsafe { say("a", room.as_mut_ptr(), 0) };
        assert_eq!(room[0] as u8, b'a');
    }
}

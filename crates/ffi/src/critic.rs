//! What does each action risk, by a critic from a file?
//!
//! A [`CpssCritic`] never changes and is shared by all threads; a [`CpssScratch`] is one thread's room to ask it in. Two
//! kinds of file are read:
//!
//! - *flat*: what `cpss.learn_risk` and `cpss.fit_risk` save in Python, for any environment: one row of numbers, and the
//!   risk of each action, or of points of a box;
//! - *set*: a critic of one row and any number of items beside it, such as the shipped driving critics.
//!
//! **Invariants:** the same bits as in Rust and Python on the same machine; nothing is allocated once a scratch is made;
//! a number that is not finite gives risks that no shield admits.
//!
//! **Absent on purpose:** turning a driving scene into rows, which `cpss-risk` does and which needs its road.

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use cpss_learn::critic::ensemble::{Ensemble, Room};
use cpss_learn::critic::{Critic, Scratch};

use crate::handle::{Handle, contained, many, many_mut, one, put, say, writable};
use crate::status::CpssStatus;

/// The most items or points that a scratch can be made for.
pub const CPSS_MOST_ROWS: usize = 4_096;

/// No critic's file is larger \[bytes\].
const MOST_BYTES: u64 = 1 << 30;

/// A critic, read from a file. It never changes.
///
/// Threads: any number may make scratches of it at once. Nobody may free it while another call uses it; the
/// scratches made of it live on.
pub struct CpssCritic(Arc<Model>);

/// One thread's room to ask a critic in.
///
/// Threads: as for a shield, it is used by one at a time, and a second one gets CPSS_STATUS_BUSY. Make one per thread.
pub struct CpssScratch(Handle<Asking>);

struct Model {
    network: Network,
    gamma: f64,
    resolution: f64,
    card: String,
}

enum Network {
    Flat(Ensemble),
    Set(Critic),
}

/// What a critic has been asked in.
struct Asking {
    model: Arc<Model>,
    most: usize,
    room: Room,
    scratch: Scratch,
}

/// What is to be known of a critic before it is asked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssCriticAbout {
    /// How many numbers its row has.
    pub numbers: usize,
    /// How many numbers each item has; 0 for a flat critic.
    pub item: usize,
    /// How many numbers a point of the box has; 0 if actions are a list.
    pub point: usize,
    /// How many actions it knows; 1 if they are points.
    pub actions: usize,
    /// The look-ahead, for CpssTerms; NaN if its card does not say.
    pub gamma: f64,
    /// The resolution, for CpssTerms; NaN if its card does not say.
    pub resolution: f64,
}

/// Reads a critic from a .safetensors file. `path` is UTF-8 and ends in a zero.
///
/// On success `*critic` is to be freed with cpss_critic_free; on an error it is null, and `why` (which may be null) holds
/// as much of the reason as fits into `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_from_file(
    path: *const c_char,
    critic: *mut *mut CpssCritic,
    why: *mut c_char,
    room: usize,
) -> CpssStatus {
    contained(|| {
        // SAFETY: what the caller promises.
        unsafe { put(critic, std::ptr::null_mut()) };
        if path.is_null() || !writable(critic) {
            return CpssStatus::Pointer;
        }
        // SAFETY: it is not null, and by the caller's promise ends in a zero.
        let path = unsafe { CStr::from_ptr(path) }.to_str();
        let bytes = path.map_err(|error| error.to_string()).and_then(|path| {
            let mut bytes = Vec::new();
            let read = File::open(path).and_then(|f| f.take(MOST_BYTES).read_to_end(&mut bytes));
            read.map_err(|error| error.to_string()).map(|_| bytes)
        });
        match bytes {
            // SAFETY: what the caller promises.
            Ok(bytes) => unsafe { hand_out(&bytes, critic, why, room) },
            Err(error) => {
                // SAFETY: what the caller promises.
                unsafe { say(&error, why, room) };
                CpssStatus::File
            }
        }
    })
}

/// The same from the file's bytes, for programs without files. They are not needed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_from_bytes(
    bytes: *const u8,
    length: usize,
    critic: *mut *mut CpssCritic,
    why: *mut c_char,
    room: usize,
) -> CpssStatus {
    contained(|| {
        // SAFETY: what the caller promises.
        let bytes = unsafe {
            put(critic, std::ptr::null_mut());
            many(bytes, length)
        };
        let Some(bytes) = bytes.filter(|_| writable(critic)) else { return CpssStatus::Pointer };
        // SAFETY: what the caller promises.
        unsafe { hand_out(bytes, critic, why, room) }
    })
}

/// Frees a critic; null is let be. Scratches made of it stay good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_free(critic: *mut CpssCritic) {
    if writable(critic) {
        // SAFETY: it came from `hand_out` and, by the caller's promise, is freed once and used by nobody.
        drop(unsafe { Box::from_raw(critic) });
    }
}

/// Says what a critic takes and gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_about(
    critic: *const CpssCritic,
    about: *mut CpssCriticAbout,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(CpssCritic(model)) = (unsafe { one(critic) }) else { return CpssStatus::Pointer };
    if !writable(about) {
        return CpssStatus::Pointer;
    }
    // SAFETY: looked at above, and the caller's promise.
    unsafe { put(about, model.about()) };
    CpssStatus::Ok
}

/// Copies the critic's card, JSON that says how it was made and whether its risks held, as far as it fits into `room`
/// bytes with its zero. Returns its whole length without the zero; 0 if there is none. `text` may be null, to ask for
/// the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_card(
    critic: *const CpssCritic,
    text: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: what the caller promises.
    let Some(CpssCritic(model)) = (unsafe { one(critic) }) else { return 0 };
    // SAFETY: what the caller promises.
    unsafe { say(&model.card, text, room) };
    model.card.len()
}

/// Makes room to ask a critic in; nothing is allocated later. `most` is the most items (of a set critic) or points (of a
/// critic of points) of one question, at most CPSS_MOST_ROWS; it is not looked at otherwise.
///
/// On success `*scratch` is to be freed with cpss_scratch_free; on an error it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_scratch_create(
    critic: *const CpssCritic,
    most: usize,
    scratch: *mut *mut CpssScratch,
) -> CpssStatus {
    contained(|| {
        // SAFETY: what the caller promises.
        let critic = unsafe {
            put(scratch, std::ptr::null_mut());
            one(critic)
        };
        let Some(CpssCritic(model)) = critic.filter(|_| writable(scratch)) else {
            return CpssStatus::Pointer;
        };
        if most > CPSS_MOST_ROWS {
            return CpssStatus::Size;
        }
        let made = Box::new(CpssScratch(Handle::new(Asking::new(Arc::clone(model), most))));
        // SAFETY: looked at above, and the caller's promise.
        unsafe { put(scratch, Box::into_raw(made)) };
        CpssStatus::Ok
    })
}

/// Frees a scratch; null is let be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_scratch_free(scratch: *mut CpssScratch) {
    if writable(scratch) {
        // SAFETY: it came from `cpss_scratch_create` and, by the caller's promise, is freed once and used by nobody.
        drop(unsafe { Box::from_raw(scratch) });
    }
}

/// Writes the risk of each action.
///
/// `row` has `numbers` numbers, as the environment's observation has them; for a set critic `items` has `item_count`
/// items one after the other (a flat critic takes null and 0). `risks` has room for `actions` numbers, as many as the
/// critic knows. On an error each of them is NaN, which no shield admits; so it is where a number is not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_risks(
    scratch: *mut CpssScratch,
    row: *const f32,
    numbers: usize,
    items: *const f32,
    item_count: usize,
    risks: *mut f64,
    actions: usize,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let (scratch, row, risks) =
        unsafe { (one(scratch.cast_const()), many(row, numbers), many_mut(risks, actions)) };
    let Some(risks) = risks else { return CpssStatus::Pointer };
    risks.fill(f64::NAN);
    let (Some(CpssScratch(handle)), Some(row)) = (scratch, row) else {
        return CpssStatus::Pointer;
    };
    handle.with(|asking| {
        let about = asking.model.about();
        if about.point > 0 {
            return CpssStatus::Kind;
        }
        let most = if about.item > 0 { asking.most } else { 0 };
        if row.len() != about.numbers || risks.len() != about.actions || item_count > most {
            return CpssStatus::Size;
        }
        // SAFETY: the caller's promise, and so few that their number cannot overflow.
        let Some(items) = (unsafe { many(items, item_count * about.item) }) else {
            return CpssStatus::Pointer;
        };
        asking.risks(row, items, risks);
        CpssStatus::Ok
    })
}

/// Writes the risk of each of some points of a box, for a critic whose actions are points. `points` has `count` points
/// one after the other, each number scaled to [-1, 1] over its range; `risks` has room for `count` numbers, which are NaN
/// on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_critic_risks_at(
    scratch: *mut CpssScratch,
    row: *const f32,
    numbers: usize,
    points: *const f32,
    count: usize,
    risks: *mut f64,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let (scratch, row, risks) =
        unsafe { (one(scratch.cast_const()), many(row, numbers), many_mut(risks, count)) };
    let Some(risks) = risks else { return CpssStatus::Pointer };
    risks.fill(f64::NAN);
    let (Some(CpssScratch(handle)), Some(row)) = (scratch, row) else {
        return CpssStatus::Pointer;
    };
    handle.with(|asking| {
        let about = asking.model.about();
        if about.point == 0 {
            return CpssStatus::Kind;
        }
        if row.len() != about.numbers || count > asking.most {
            return CpssStatus::Size;
        }
        // SAFETY: the caller's promise, and so few that their number cannot overflow.
        let Some(points) = (unsafe { many(points, count * about.point) }) else {
            return CpssStatus::Pointer;
        };
        if let Network::Flat(ensemble) = &asking.model.network {
            ensemble.risks_at(row, points, &mut asking.room, risks);
        }
        CpssStatus::Ok
    })
}

/// Reads bytes and hands out a critic, or says why it is none.
///
/// # Safety
///
/// `critic` is writable, and `why` is null or has `room` bytes.
unsafe fn hand_out(
    bytes: &[u8],
    critic: *mut *mut CpssCritic,
    why: *mut c_char,
    room: usize,
) -> CpssStatus {
    match Model::read(bytes) {
        Ok(model) => {
            let made = Box::new(CpssCritic(Arc::new(model)));
            // SAFETY: the caller's promise.
            unsafe { put(critic, Box::into_raw(made)) };
            CpssStatus::Ok
        }
        Err(reason) => {
            // SAFETY: the caller's promise.
            unsafe { say(&reason, why, room) };
            CpssStatus::Critic
        }
    }
}

impl Model {
    /// Reads either kind; the reason if it is neither.
    fn read(bytes: &[u8]) -> Result<Model, String> {
        let (network, about) = match Ensemble::from_bytes(bytes) {
            Ok((ensemble, about)) => (Network::Flat(ensemble), about),
            Err(flat) => match Critic::from_bytes(bytes) {
                Ok((critic, about)) => (Network::Set(critic), about),
                Err(set) => {
                    return Err(format!("as a flat critic: {flat}; as a set critic: {set}"));
                }
            },
        };
        let card = about.get("card").cloned().unwrap_or_default();
        let words: serde_json::Value = match card.as_str() {
            "" => serde_json::Value::Null,
            card => serde_json::from_str(card)
                .map_err(|error| format!("its card cannot be read: {error}"))?,
        };
        // Python's cards lie one deeper, beside the spaces.
        let words = words.get("card").unwrap_or(&words);
        let number = |name| words.get(name).and_then(serde_json::Value::as_f64);
        let [gamma, resolution] = ["gamma", "resolution"].map(|n| number(n).unwrap_or(f64::NAN));
        Ok(Model { network, gamma, resolution, card })
    }

    fn about(&self) -> CpssCriticAbout {
        let (gamma, resolution) = (self.gamma, self.resolution);
        match &self.network {
            Network::Flat(ensemble) => CpssCriticAbout {
                numbers: ensemble.numbers(),
                item: 0,
                point: ensemble.point(),
                actions: ensemble.actions(),
                gamma,
                resolution,
            },
            Network::Set(critic) => {
                let shape = critic.shape();
                let (numbers, item, actions) = (shape.fixed, shape.item, shape.actions);
                CpssCriticAbout { numbers, item, point: 0, actions, gamma, resolution }
            }
        }
    }
}

impl Asking {
    /// Makes all the room there will be need for, by asking the largest question there can be.
    fn new(model: Arc<Model>, most: usize) -> Asking {
        let about = model.about();
        let mut asking = Asking { model, most, room: Room::default(), scratch: Scratch::default() };
        let row = vec![0.0; about.numbers];
        if about.point > 0 {
            let points = vec![0.0; most * about.point];
            if let Network::Flat(ensemble) = &asking.model.network {
                ensemble.risks_at(&row, &points, &mut asking.room, &mut vec![0.0; most]);
            }
        } else {
            let items = vec![0.0; most * about.item];
            // A pass swaps its three buffers about, and after six every one has been in every place.
            for _ in 0..6 {
                asking.risks(&row, &items, &mut vec![0.0; about.actions]);
            }
        }
        asking
    }

    fn risks(&mut self, row: &[f32], items: &[f32], risks: &mut [f64]) {
        match &self.model.network {
            Network::Flat(ensemble) => ensemble.risks(row, &mut self.room, risks),
            // It calls every action certain to fail then, which the policy's favourite would win. What cannot be read is not
            // known: no risk is usable, and the last resort runs.
            Network::Set(_) if !row.iter().chain(items).all(|number| number.is_finite()) => {
                risks.fill(f64::NAN);
            }
            Network::Set(critic) => critic.risks(row, items, &mut self.scratch, risks),
        }
    }
}

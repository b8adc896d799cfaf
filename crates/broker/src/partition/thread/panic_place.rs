//! The location of a panic: only the process-wide hook sees it.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Maximum bytes kept of a stack trace.
const MAX_BYTES: usize = 8 << 10;

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`, which catches panics. Returns its result and the location of the panic with its stack; empty without a panic.
pub(super) fn watched<T>(work: impl FnOnce() -> T) -> (T, String) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            note(panic);
            others(panic);
        }));
    });
    WATCHING.set(true);
    let result = work();
    WATCHING.set(false);
    (result, PLACE.take())
}

fn note(panic: &PanicHookInfo<'_>) {
    if !WATCHING.get() {
        return;
    }
    let location = panic.location();
    let location = location.map_or_else(String::new, ToString::to_string);
    let mut text = format!("{location}\n{}", Backtrace::force_capture());
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    PLACE.set(text);
}

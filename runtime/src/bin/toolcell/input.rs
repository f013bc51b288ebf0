//! The end of standard input, seen before all of it is read.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use toolcell::CancellationToken;

/// Cancelled once nobody holds the other end of standard input any more, whatever of it is still to be read. Never, where
/// that cannot be told.
pub(crate) fn left() -> CancellationToken {
    let token = CancellationToken::new();
    let told = token.clone();
    // Without the thread the end is seen where it is read.
    let _ = std::thread::Builder::new().name("toolcell-input".to_owned()).spawn(move || {
        let stdin = io::stdin();
        loop {
            let mut watched = [PollFd::new(&stdin, PollFlags::RDHUP)];
            match poll(&mut watched, None) {
                Ok(_)
                    if watched
                        .iter()
                        .any(|end| end.revents().intersects(PollFlags::HUP | PollFlags::RDHUP)) =>
                {
                    told.cancel();
                    return;
                }
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    });
    token
}

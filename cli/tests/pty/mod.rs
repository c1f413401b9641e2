//! A terminal whose other end a test holds.

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use rustix::pty::{self, OpenptFlags};
use rustix::termios::{tcsetwinsize, Winsize};

/// Both ends of a terminal: ours, and that of programs.
pub(crate) fn terminal() -> (File, OwnedFd) {
    let ours = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .expect("a terminal");
    pty::grantpt(&ours).expect("it is ours");
    pty::unlockpt(&ours).expect("it is ours");
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).expect("it has a size");
    let name = pty::ptsname(&ours, Vec::new()).expect("it has a name");
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).expect("a small number");
    let other_end = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(no_control)
        .open(name.to_str().expect("it is ASCII"));
    (ours.into(), other_end.expect("the other end").into())
}

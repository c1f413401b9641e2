//! The file of the live view, as its process writes it.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use heist_event::halves;
use heist_sync::process_folder::{ProcessFolder, ProcessId};

/// So long after the last writing the file of a dead process is removed: somebody may want to read
/// it, and a process of another container may only seem dead from here.
const KEPT: Duration = Duration::from_secs(60);

/// The most bytes of one call. Tests write little at once, so that a kill comes between two calls.
const PIECE: usize = if cfg!(test) { 64 } else { usize::MAX };

/// The file of this process.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    generation: u64,
    folder: ProcessFolder,
    process: ProcessId,
}

impl Writer {
    /// Makes the file, with this as the first text, and removes those of the dead.
    pub(super) fn begin(text: &str) -> io::Result<Self> {
        let folder = ProcessFolder::make()?;
        let process = ProcessId::present();
        let unknown = || io::Error::other("the system does not tell when this process started");
        Self::begin_in(folder, process.ok_or_else(unknown)?, text)
    }

    fn begin_in(folder: ProcessFolder, process: ProcessId, text: &str) -> io::Result<Self> {
        folder.remove_dead(KEPT);
        let mut writer = Self {
            file: folder.create(process)?,
            generation: 0,
            folder,
            process,
        };
        writer.write(text)?;
        writer.folder.publish(process)?;
        Ok(writer)
    }

    /// Writes the next text, in the half that is older.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let half = halves::half(self.generation + 1, text);
        let no_room = || io::Error::other("there is no room for it");
        let (at, bytes) = half.ok_or_else(no_room)?;
        self.file.seek(SeekFrom::Start(at as u64))?;
        for piece in bytes.chunks(PIECE) {
            self.file.write_all(piece)?;
        }
        // After an error the same half is the older one.
        self.generation += 1;
        Ok(())
    }

    /// Removes the file of this process.
    pub(super) fn remove(folder: &ProcessFolder, process: ProcessId) {
        // Somebody may have removed it before.
        let _ = fs::remove_file(folder.path(process));
    }

    /// The place of the file.
    pub(super) fn place(&self) -> (ProcessFolder, ProcessId) {
        (self.folder.clone(), self.process)
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod tests {
    use std::env;
    use std::io::{BufRead as _, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::policy::Rng;

    const CHILD: &str = "live_view::writer::tests::in_a_child";
    const FOLDER: &str = "XDG_RUNTIME_DIR";

    const LENGTH: usize = 20_000;

    fn text(generation: u64) -> String {
        let word = format!("{generation} ");
        word.repeat(LENGTH / word.len())
    }

    #[test]
    #[ignore = "writes for ever; killed by the other test"]
    fn in_a_child() {
        let folder = PathBuf::from(env::var_os(FOLDER).expect("the parent says it"));
        let folder = ProcessFolder::open(&folder).expect("the parent has made it");
        let process = ProcessId::present().expect("Linux tells it");
        let mut out = io::stderr();
        let mut generation = 1;
        let mut writer = Writer::begin_in(folder, process, &text(generation)).expect("it is ours");
        loop {
            out.write_all(format!("{generation}\n").as_bytes())
                .expect("the parent reads");
            generation += 1;
            writer.write(&text(generation)).expect("there is room");
        }
    }

    /// Starts a child, and kills it after it has said some lines and after some turns of a loop.
    /// Gives the number of the child and the last generation that it has said.
    fn killed(folder: &Path, rng: &mut Rng) -> (u32, u64) {
        let mut child = Command::new(env::current_exe().expect("this test"))
            .args([CHILD, "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test runs again");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut said = || lines.next().and_then(|line| line.ok()?.parse().ok());
        let mut last = 0;
        for _ in 0..=rng.next_u64() % 8 {
            last = said().expect("the child writes");
        }
        for _ in 0..rng.next_u64() % 20_000 {
            std::hint::spin_loop();
        }
        child.kill().expect("it writes for ever");
        child.wait().expect("it has ended");
        while let Some(more) = said() {
            last = more;
        }
        (child.id(), last)
    }

    /// With one half only, of which a part would be old, most of the files would be unreadable.
    #[test]
    fn the_file_of_a_process_that_was_killed_at_any_moment_has_a_whole_half() {
        let folder = env::temp_dir().join(format!("heist-halves-{}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).expect("a folder");
        let mut rng = Rng::new(7);
        for _ in 0..300 {
            let (pid, said) = killed(&folder, &mut rng);
            let place = ProcessFolder::open(&folder).expect("it is ours");
            let processes = place.processes().expect("it is there");
            let process = processes.into_iter().find(|process| process.pid == pid);
            let process = process.expect("it was published before the child said anything");
            assert!(!process.is_alive());
            let bytes = fs::read(place.path(process)).expect("it is there");
            let (generation, read) = halves::newest(&bytes).expect("one half is whole");
            assert!(
                (said..=said + 1).contains(&generation),
                "{generation} after {said}"
            );
            assert_eq!(read, text(generation));
            fs::remove_file(place.path(process)).expect("it is ours");
        }
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}

//! Files of which others always find a whole one, the old or the new. They are private.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use crate::private;

/// Writes the file `name` in `folder` beside its place and then renames it. One that `is_lasting`
/// is on disk when this returns, and before the old one is gone.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    is_lasting: bool,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let beside = folder.join(format!("{name}.new"));
    let mut file = BufWriter::new(private::create(&beside)?);
    write(&mut file)?;
    file.flush()?;
    if is_lasting {
        file.get_ref().sync_all()?;
    }
    fs::rename(&beside, folder.join(name))?;
    if is_lasting {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

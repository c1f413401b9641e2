//! A terminal for drawing, restored afterwards.

use std::io::{self, Stdout, Write as _};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{cursor, execute, queue, terminal};
use rustix::event::{PollFd, PollFlags};
use rustix::time::Timespec;
use signal_hook::consts::{SIGHUP, SIGTERM};

use super::view::{Line, Tone};

/// A terminal under our control until this is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    out: Stdout,
    /// True once this process was asked to end.
    is_ended: Arc<AtomicBool>,
}

impl Screen {
    /// Takes over the terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        let is_ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&is_ended))?;
        }
        terminal::enable_raw_mode()?;
        // From here on the terminal is restored on every path.
        let mut screen = Self {
            out: io::stdout(),
            is_ended,
        };
        execute!(
            screen.out,
            EnterAlternateScreen,
            DisableLineWrap,
            cursor::Hide
        )?;
        // A panic's message belongs on the screen that stays.
        let show = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let _ = leave();
            show(panic);
        }));
        Ok(screen)
    }

    /// How many lines it has.
    pub(crate) fn rows(&self) -> io::Result<usize> {
        Ok(usize::from(terminal::size()?.1))
    }

    /// Shows the lines from the top, as many as there is room for.
    pub(crate) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        queue!(self.out, BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        let (columns, _) = terminal::size()?;
        let rows = self.rows()?;
        for (row, line) in lines.iter().take(rows).enumerate() {
            queue!(
                self.out,
                cursor::MoveTo(0, u16::try_from(row).unwrap_or(u16::MAX)),
                Clear(ClearType::CurrentLine)
            )?;
            for (tone, text) in within(line, columns.into()) {
                self.tone(tone)?;
                queue!(self.out, Print(text), SetAttribute(Attribute::Reset))?;
            }
        }
        if lines.len() < rows {
            queue!(self.out, Print("\r\n"), Clear(ClearType::FromCursorDown))?;
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }

    fn tone(&mut self, tone: Tone) -> io::Result<()> {
        match tone {
            Tone::Plain => Ok(()),
            Tone::Head => queue!(self.out, SetAttribute(Attribute::Bold)),
            Tone::Faint => queue!(self.out, SetAttribute(Attribute::Dim)),
            Tone::Calm => queue!(self.out, SetForegroundColor(Color::Green)),
            Tone::Warm => queue!(self.out, SetForegroundColor(Color::Yellow)),
            Tone::Hot => queue!(self.out, SetForegroundColor(Color::Red)),
        }
    }

    /// Waits for `patience`, and returns true to quit: on q, Escape, Ctrl-C, a signal to end or the
    /// end of the terminal. A change of size ends the wait.
    pub(crate) fn is_left_within(&self, patience: Duration) -> io::Result<bool> {
        // Nothing else follows from it.
        if self.is_ended.load(Ordering::Relaxed) {
            return Ok(true);
        }
        if is_hung_up_within(patience)? {
            return Ok(true);
        }
        if !crossterm::event::poll(Duration::ZERO)? {
            return Ok(false);
        }
        let Event::Key(key) = crossterm::event::read()? else {
            return Ok(false);
        };
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        let is_end = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) || is_interrupt;
        Ok(key.kind == KeyEventKind::Press && is_end)
    }
}

/// Waits for a key or a signal, and returns true if the terminal is gone: crossterm would read its
/// end again and again, and never return.
fn is_hung_up_within(patience: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut terminal = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    match rustix::event::poll(&mut terminal, Some(&patience)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ok(terminal[0].revents().intersects(gone))
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is no terminal left to tell if this fails.
        let _ = leave();
    }
}

/// The parts of a line as far as there is room: without wrapping, all beyond it would end up in the
/// last column.
fn within(line: &Line, columns: usize) -> Vec<(Tone, String)> {
    let mut room = columns;
    let fitted = line.0.iter().map(|(tone, text)| {
        let text: String = text.chars().take(room).collect();
        room -= text.chars().count();
        (*tone, text)
    });
    fitted.collect()
}

fn leave() -> io::Result<()> {
    let shown = execute!(
        io::stdout(),
        EnableLineWrap,
        LeaveAlternateScreen,
        cursor::Show
    );
    terminal::disable_raw_mode().and(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_the_edge_of_the_screen() {
        let part = |text: &str| (Tone::Plain, text.to_owned());
        let line = Line(vec![part("█░░"), part("abc"), part("d")]);
        let text = |columns| -> Vec<String> {
            let parts = within(&line, columns).into_iter();
            parts.map(|(_, text)| text).collect()
        };
        assert_eq!(text(80), ["█░░", "abc", "d"]);
        assert_eq!(text(5), ["█░░", "ab", ""]);
        assert_eq!(text(0), ["", "", ""]);
    }
}

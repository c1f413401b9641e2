//! A board on which no queen attacks another.

use crate::Join;

/// A board of up to `N` rows with a queen in each of its first rows.
#[derive(Clone, Copy, Debug)]
pub struct Board<const N: usize> {
    /// The column of the queen of each occupied row.
    columns: [u8; N],
    placed: u8,
    size: u8,
}

impl<const N: usize> Board<N> {
    /// A board of `size` rows without queens; `None` if there are no rows or more than `N`.
    pub fn empty(size: u64) -> Option<Self> {
        let size = u8::try_from(size).ok()?;
        (1..=N).contains(&usize::from(size)).then_some(Self {
            columns: [0; N],
            placed: 0,
            size,
        })
    }

    /// Whether every row has its queen.
    pub fn is_full(&self) -> bool {
        self.placed == self.size
    }

    /// The columns of the queens, row by row.
    pub fn queens(&self) -> &[u8] {
        &self.columns[..usize::from(self.placed)]
    }

    /// Whether no queen attacks that column of the next row.
    fn is_free(&self, column: u8) -> bool {
        self.queens().iter().zip(0..).all(|(&other, row)| {
            let distance = self.placed - row;
            other != column && other + distance != column && column + distance != other
        })
    }

    /// The board with one more queen.
    pub fn with(&self, column: u8) -> Self {
        let mut board = *self;
        board.columns[usize::from(self.placed)] = column;
        board.placed += 1;
        board
    }

    /// The columns of the next row that no queen attacks, and their number.
    pub fn free_columns(&self) -> ([u8; N], usize) {
        let (mut columns, mut count) = ([0; N], 0);
        for column in 0..self.size {
            if self.is_free(column) {
                columns[count] = column;
                count += 1;
            }
        }
        (columns, count)
    }

    /// The boards with one more queen.
    pub fn next(&self) -> impl Iterator<Item = Self> + '_ {
        let (columns, count) = self.free_columns();
        columns
            .into_iter()
            .take(count)
            .map(|column| self.with(column))
    }

    /// How many full boards the search finds from here, without a join.
    pub fn solutions(&self) -> u64 {
        if self.is_full() {
            return 1;
        }
        self.next().map(|board| board.solutions()).sum()
    }

    /// As [`solutions`](Self::solutions), with a binary join over the free columns of each row.
    pub fn solutions_joined<J: Join>(&self) -> u64 {
        if self.is_full() {
            return 1;
        }
        let (columns, count) = self.free_columns();
        self.over::<J>(&columns[..count])
    }

    /// The solutions with the next queen in one of `columns`.
    fn over<J: Join>(&self, columns: &[u8]) -> u64 {
        match columns {
            [] => 0,
            [column] => self.with(*column).solutions_joined::<J>(),
            _ => {
                let (low, high) = columns.split_at(columns.len() / 2);
                let (a, b) = J::join(|| self.over::<J>(low), || self.over::<J>(high));
                a + b
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequential;

    #[test]
    fn the_counts_are_the_known_ones() {
        let known = [1, 0, 0, 2, 10, 4, 40, 92];
        for (rows, solutions) in (1..).zip(known) {
            let board = Board::<18>::empty(rows).unwrap();
            assert_eq!(board.solutions(), solutions, "{rows} rows");
            assert_eq!(
                board.solutions_joined::<Sequential>(),
                solutions,
                "{rows} rows"
            );
        }
    }

    #[test]
    fn queens_attack_along_columns_and_diagonals() {
        let (columns, count) = Board::<16>::empty(4).unwrap().with(1).free_columns();
        assert_eq!(columns[..count], [3]);
    }

    #[test]
    fn a_board_has_a_row_at_least_and_not_too_many() {
        assert!(Board::<16>::empty(0).is_none());
        assert!(Board::<16>::empty(16).is_some());
        assert!(Board::<16>::empty(17).is_none());
    }
}

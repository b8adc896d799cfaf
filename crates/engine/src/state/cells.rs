//! The memory of a table's rows: pages in which rows do not move. An index over them therefore stores and moves one number
//! per row instead of the row, and reusing a cell needs no allocation.

use skep_protocol::Key;

/// Maximum bytes of one page: a size that an allocator serves without waste.
const PAGE_BYTES: usize = 16 << 10;

/// The cell of one row. There are millions, so it has no superfluous byte.
pub(super) struct Cell<V> {
    /// [`Key::NONE`]: the cell is empty.
    pub key: Key,
    /// `None` in an occupied cell: deleted, but perhaps still in the store. Such a cell stays until the checkpoint that
    /// deletes the row is known to have reached the store, so that a read in between does not find the old row.
    pub row: Option<V>,
    weight: u32,
    pub dirty: bool,
    /// The store may have a row under this key, also while its deletion is in progress.
    pub stored: bool,
    pub used: bool,
    /// The cell is in the list of changed cells, even if the changed row is gone.
    pub listed: bool,
}

impl<V> Cell<V> {
    /// Puts a row into an empty cell.
    #[inline]
    pub fn fill(&mut self, key: Key, row: V, weight: usize, stored: bool) {
        self.key = key;
        self.row = Some(row);
        self.set_weight(weight);
        (self.used, self.stored) = (true, stored);
    }

    #[inline]
    pub fn is_occupied(&self) -> bool {
        !self.key.is_none()
    }

    /// Bytes of the row at its last weighing.
    #[inline]
    pub fn weight(&self) -> usize {
        self.weight as usize
    }

    /// Sets the weight. No row reaches 4 GiB.
    #[inline]
    pub fn set_weight(&mut self, weight: usize) {
        self.weight = u32::try_from(weight).unwrap_or(u32::MAX);
    }

    fn vacant() -> Cell<V> {
        Cell {
            key: Key::NONE,
            row: None,
            weight: 0,
            dirty: false,
            stored: false,
            used: false,
            listed: false,
        }
    }
}

pub(super) struct Cells<V> {
    pages: Vec<Vec<Cell<V>>>,
    vacant: Vec<u32>,
    len: usize,
}

impl<V> Cells<V> {
    /// Number of cells per page.
    const PAGE: usize = match PAGE_BYTES / size_of::<Cell<V>>() {
        0 => 1,
        cells => cells,
    };

    pub fn new() -> Cells<V> {
        Cells {
            pages: Vec::new(),
            vacant: Vec::new(),
            len: 0,
        }
    }

    /// Number of cells, occupied or not.
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn get(&self, at: u32) -> Option<&Cell<V>> {
        let page = self.pages.get(at as usize / Self::PAGE)?;
        page.get(at as usize % Self::PAGE)
    }

    /// The key of the cell, [`Key::NONE`] if it is empty.
    #[inline]
    pub fn key(&self, at: u32) -> Key {
        self.get(at).map_or(Key::NONE, |cell| cell.key)
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut Cell<V>> {
        let page = self.pages.get_mut(at as usize / Self::PAGE)?;
        page.get_mut(at as usize % Self::PAGE)
    }

    /// Takes an empty cell for a new row.
    #[inline]
    pub fn take(&mut self) -> u32 {
        if let Some(at) = self.vacant.pop() {
            return at;
        }
        if self.len.is_multiple_of(Self::PAGE) {
            self.pages.push(Vec::with_capacity(Self::PAGE));
        }
        if let Some(page) = self.pages.last_mut() {
            page.push(Cell::vacant());
        }
        self.len += 1;
        (self.len - 1) as u32
    }

    /// Empties a cell and returns its row.
    #[inline]
    pub fn remove(&mut self, at: u32) -> Option<V> {
        let cell = self.get_mut(at)?;
        let row = cell.row.take();
        (cell.key, cell.dirty) = (Key::NONE, false);
        self.vacant.push(at);
        row
    }

    pub fn iter(&self) -> impl Iterator<Item = &Cell<V>> {
        self.pages
            .iter()
            .flatten()
            .filter(|cell| cell.is_occupied())
    }

    /// Whether so many cells are empty that closing up pays off.
    pub fn has_holes(&self) -> bool {
        self.vacant.len() > Self::PAGE && self.vacant.len() > self.len / 4
    }

    /// Moves the last rows into the empty cells, and releases the pages after them. `moved` receives each moved row's key,
    /// old position and new position.
    pub fn close_up(&mut self, mut moved: impl FnMut(Key, u32, u32)) {
        let occupied = self.len - self.vacant.len();
        let mut holes = std::mem::take(&mut self.vacant);
        holes.retain(|at| (*at as usize) < occupied);
        for from in occupied..self.len {
            let from = from as u32;
            let is_occupied = self.get(from).is_some_and(Cell::is_occupied);
            if is_occupied
                && let Some(to) = holes.pop()
                && let Some(cell) = self.get_mut(from)
            {
                let cell = std::mem::replace(cell, Cell::vacant());
                moved(cell.key, from, to);
                if let Some(place) = self.get_mut(to) {
                    *place = cell;
                }
            }
        }
        self.len = occupied;
        self.pages.truncate(occupied.div_ceil(Self::PAGE));
        if let Some(page) = self.pages.last_mut()
            && !occupied.is_multiple_of(Self::PAGE)
        {
            page.truncate(occupied % Self::PAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cells: &mut Cells<i64>, n: i64) -> u32 {
        let at = cells.take();
        cells.get_mut(at).unwrap().fill(Key(n), n, 0, false);
        at
    }

    #[test]
    fn empty_cells_are_given_to_the_next_rows() {
        let mut cells = Cells::new();
        let places: Vec<u32> = (0..300).map(|n| put(&mut cells, n)).collect();
        assert_eq!(cells.remove(places[7]), Some(7));
        assert_eq!(put(&mut cells, 1000), places[7]);
        assert_eq!((cells.len(), cells.iter().count()), (300, 300));
    }

    #[test]
    fn closing_up_keeps_the_rows_and_gives_pages_back() {
        let mut cells = Cells::new();
        let mut places: Vec<u32> = (0..1000).map(|n| put(&mut cells, n)).collect();
        for n in (0..1000).filter(|n| n % 10 != 3) {
            cells.remove(places[n]);
        }
        assert!(cells.has_holes());
        cells.close_up(|key, _, at| places[key.0 as usize] = at);
        assert_eq!((cells.len(), cells.pages.len()), (100, 1));
        for n in (3..1000).step_by(10) {
            assert_eq!(cells.get(places[n]).unwrap().row, Some(n as i64));
        }
        let at = put(&mut cells, 5);
        assert_eq!((at, cells.len()), (100, 101));
    }
}

//! The text of a long JSON array in pieces, so that an element can be found and replaced without reading the rest.
//!
//! It is only a representation: the list is stored, compared and read as its text.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use skep_protocol::document::{JsonText, array_elements, nth_element};

/// Number of elements per piece. A piece is copied when one of its elements is replaced.
const PIECE: usize = 64;

#[derive(Clone, Debug)]
pub struct LongList {
    /// The text between the brackets, cut at commas. Each piece has [`PIECE`] elements; the last one may have fewer.
    pieces: Vec<Arc<str>>,
    /// Bytes of each piece, plus one for the comma or bracket before it.
    lengths: Sums,
    /// Number of elements.
    count: usize,
    /// The whole text, cached from its first read until the next change.
    whole: OnceLock<JsonText>,
}

impl LongList {
    /// Splits a text. `None` if it is not an array, or has white space around its brackets or at the end of a piece.
    pub fn of(text: &JsonText) -> Option<LongList> {
        let (mut pieces, mut count) = (Vec::new(), 0);
        let mut piece: Option<Range<usize>> = None;
        for element in array_elements(text)? {
            let element = element?;
            let begin = piece.as_ref().map_or(element.start, |piece| piece.start);
            piece = Some(begin..element.end);
            count += 1;
            if count % PIECE == 0 {
                pieces.push(text.get(piece.take()?)?.into());
            }
        }
        if let Some(piece) = piece {
            pieces.push(text.get(piece)?.into());
        }
        let lengths = pieces.iter().map(|piece: &Arc<str>| piece.len() + 1);
        let list = LongList {
            lengths: Sums::of(lengths),
            pieces,
            count,
            whole: OnceLock::from(text.clone()),
        };
        (count > 0 && list.len() == text.len() && text.ends_with(']')).then_some(list)
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        // The closing bracket; commas and the opening bracket are counted with the pieces they precede.
        self.lengths.before(self.pieces.len()) + 1
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The position and text of the element at `index`.
    pub fn element(&self, index: usize) -> Option<(Range<usize>, &str)> {
        let at = index / PIECE;
        let piece = self.pieces.get(at)?;
        let place = nth_element(piece, index % PIECE)?;
        let begin = self.lengths.before(at) + 1;
        let element = piece.get(place.clone())?;
        Some((begin + place.start..begin + place.end, element))
    }

    /// Replaces the part of the text at this place: one element, or what follows the last one, or the last one and the
    /// comma before it by nothing. `false` for any other part, which is not supported here.
    pub(in crate::appliers) fn splice(&mut self, place: Range<usize>, by: &str) -> bool {
        let is_end = place.end + 1 == self.len();
        match by.strip_prefix(',') {
            Some(element) if is_end && place.is_empty() => {
                self.append(element);
                return true;
            }
            None if is_end && by.is_empty() => return self.remove_last(place.len()),
            None if !by.is_empty() => {}
            _ => return false,
        }
        let Some((at, within)) = self.find(&place) else {
            return false;
        };
        let Some(piece) = self.pieces.get_mut(at) else {
            return false;
        };
        let parts = piece.get(..within.start).zip(piece.get(within.end..));
        let Some((before, after)) = parts else {
            return false;
        };
        let spliced: Arc<str> = [before, by, after].concat().into();
        self.lengths.change(at, piece.len(), spliced.len());
        *piece = spliced;
        self.whole.take();
        true
    }

    /// The text at this place, if it is within one piece.
    pub fn get(&self, place: &Range<usize>) -> Option<&str> {
        let (at, within) = self.find(place)?;
        self.pieces.get(at)?.get(within)
    }

    /// The piece that contains this place, and the range within it.
    fn find(&self, place: &Range<usize>) -> Option<(usize, Range<usize>)> {
        let at = self.lengths.place_of(place.start);
        let begin = self.lengths.before(at) + 1;
        Some((
            at,
            place.start.checked_sub(begin)?..place.end.checked_sub(begin)?,
        ))
    }

    /// Removes the last element, which has this many bytes including the comma before it.
    fn remove_last(&mut self, bytes: usize) -> bool {
        let last = self.pieces.len().saturating_sub(1);
        let Some(piece) = self.pieces.get_mut(last) else {
            return false;
        };
        if piece.len() + 1 == bytes && last > 0 {
            self.pieces.pop();
            self.lengths.0.pop();
        } else {
            let kept = piece.len().checked_sub(bytes);
            let Some(kept) = kept.and_then(|kept| piece.get(..kept)) else {
                return false;
            };
            let kept: Arc<str> = kept.into();
            self.lengths.change(last, piece.len(), kept.len());
            *piece = kept;
        }
        self.count -= 1;
        self.whole.take();
        true
    }

    fn append(&mut self, element: &str) {
        match self.pieces.last_mut() {
            Some(last) if !self.count.is_multiple_of(PIECE) => {
                let before = last.len();
                *last = [last, ",", element].concat().into();
                self.lengths
                    .change(self.pieces.len() - 1, before, before + 1 + element.len());
            }
            _ => {
                self.pieces.push(element.into());
                self.lengths.push(element.len() + 1);
            }
        }
        self.count += 1;
        self.whole.take();
    }

    /// The whole text.
    pub fn text(&self) -> &JsonText {
        self.whole.get_or_init(|| {
            let mut text = String::with_capacity(self.len());
            for piece in &self.pieces {
                text.push(if text.is_empty() { '[' } else { ',' });
                text.push_str(piece);
            }
            text.push(']');
            text.into()
        })
    }
}

/// A Fenwick tree: numbers with prefix sums that need not be added up, while each number can change.
#[derive(Clone, Debug, Default)]
struct Sums(Vec<usize>);

impl Sums {
    fn of(numbers: impl Iterator<Item = usize>) -> Sums {
        let mut sums = Sums::default();
        numbers.for_each(|number| sums.push(number));
        sums
    }

    fn push(&mut self, number: usize) {
        // The node at `at` (from 1) holds the sum of as many numbers as its lowest set bit says.
        let at = self.0.len() + 1;
        let first = at - (at & at.wrapping_neg());
        let sum = self.before(at - 1) - self.before(first) + number;
        self.0.push(sum);
    }

    /// The sum of the first `count` numbers.
    fn before(&self, count: usize) -> usize {
        let (mut sum, mut at) = (0, count);
        while at > 0 {
            sum += self.0.get(at - 1).copied().unwrap_or_default();
            at &= at - 1;
        }
        sum
    }

    /// Changes the number at `index` (from 0) by the difference between `from` and `to`. The share that all numbers have in
    /// common is ignored.
    fn change(&mut self, index: usize, from: usize, to: usize) {
        let mut at = index + 1;
        while let Some(sum) = self.0.get_mut(at - 1) {
            *sum = (*sum + to).saturating_sub(from);
            at += at & at.wrapping_neg();
        }
    }

    /// How many of the first numbers add up to no more than `sum`.
    fn place_of(&self, sum: usize) -> usize {
        let (mut place, mut left) = (0, sum);
        let mut step = self.0.len().checked_ilog2().map_or(0, |log| 1 << log);
        while step > 0 {
            if let Some(next) = self.0.get(place + step - 1)
                && *next <= left
            {
                left -= next;
                place += step;
            }
            step /= 2;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn element() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("null".to_string()),
            "[0-9]{1,9}".prop_map(|digits| format!("1{digits}")),
            r#""[a-z,\[\]{}]{0,12}""#,
            Just(r#"{"a":[1,{"b":"],["}]}"#.to_string()),
            Just("[]".to_string()),
        ]
    }

    proptest! {
        /// Elements are replaced and appended as in the plain text.
        #[test]
        fn a_list_in_pieces_is_its_text(
            elements in prop::collection::vec(element(), 1..300),
            changes in prop::collection::vec((any::<prop::sample::Index>(), element(), 0..4, any::<bool>()), 0..90),
        ) {
            let mut expected = elements;
            let text = |elements: &[String]| format!("[{}]", elements.join(","));
            let mut list = LongList::of(&text(&expected).into()).expect("it is an array");
            for (index, element, change, reads) in changes {
                let end = list.len() - 1;
                match change {
                    0 => {
                        let appended = list.splice(end..end, &format!(",{element}"));
                        prop_assert!(appended);
                        expected.push(element);
                    }
                    1 if expected.len() > 1 => {
                        let last = expected.pop().expect("there are two");
                        let removed = list.splice(end - last.len() - 1..end, "");
                        prop_assert!(removed);
                    }
                    _ => {
                        let index = index.index(expected.len());
                        let (place, is) = list.element(index).expect("it is there");
                        prop_assert_eq!(is, &expected[index]);
                        prop_assert_eq!(list.get(&place), Some(is));
                        prop_assert!(list.splice(place, &element));
                        expected[index] = element;
                    }
                }
                prop_assert_eq!(list.count(), expected.len());
                prop_assert_eq!(list.len(), text(&expected).len());
                if reads {
                    prop_assert_eq!(&**list.text(), text(&expected));
                }
            }
            prop_assert_eq!(&**list.text(), text(&expected));
            for (index, element) in expected.iter().enumerate() {
                let (place, is) = list.element(index).expect("it is there");
                prop_assert_eq!(is, element);
                prop_assert_eq!(&list.text()[place], element);
            }
            prop_assert!(list.element(expected.len()).is_none());
        }
    }

    #[test]
    fn only_plain_arrays_become_long_lists() {
        for text in [
            "", "1", "{}", "[", "[]", "[1,]", "[,1]", " [1]", "[1] ", "[1",
        ] {
            assert!(LongList::of(&text.into()).is_none(), "{text}");
        }
    }
}

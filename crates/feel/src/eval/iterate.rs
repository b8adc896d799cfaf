//! `for`, `some` and `every`.

use std::ops::ControlFlow;

use super::{Evaluator, quote};
use crate::compile::{ForNode, IteratorNode, Node, QuantifiedNode};
use crate::value::{List, SLOT};
use crate::{Number, Value, WarningCode, prices};

/// Items of a loop.
enum Items {
    List(List),
    /// From the first to the last number, up or down.
    Numbers(i64, i64),
    /// From the first number in steps of one, up to the last one.
    Steps(Number, Number),
    /// From the first to the last day, up or down.
    Days(i64, i64),
}

type Visit<'v, 'a> = &'v mut dyn FnMut(&mut Evaluator<'a>) -> ControlFlow<()>;

impl<'a> Evaluator<'a> {
    pub(super) fn iterate(&mut self, node: &ForNode) -> Value {
        let mut values = Vec::new();
        let mut failed = false;
        if let Some(slot) = node.partial {
            self.set(slot, Value::List(List::new(Vec::new())));
            let _ = self.each(&node.iterators, &mut failed, &mut |this| {
                let value = this.turn(&node.body);
                // Taken out of its slot, the list grows in place unless the body kept it.
                if let Value::List(mut list) = this.take(slot) {
                    if list.is_shared() {
                        this.charge(prices::ITEM * list.len());
                        this.hold(List::EMPTY + SLOT * list.len() as u64);
                    }
                    this.hold(SLOT);
                    list.push(value);
                    let list = this.bounded(Value::List(list));
                    this.set(slot, list);
                }
                this.flow()
            });
            let value = self.take(slot);
            return if failed { Value::Null } else { value };
        }
        let _ = self.each(&node.iterators, &mut failed, &mut |this| {
            let value = this.turn(&node.body);
            this.hold(SLOT);
            values.push(value);
            this.flow()
        });
        if failed {
            Value::Null
        } else {
            self.counted_list(values)
        }
    }

    /// The value of a body, of whose work nothing else remains.
    fn turn(&mut self, body: &Node) -> Value {
        let held = self.held();
        let value = self.eval(body);
        self.keep(held, &value);
        value
    }

    pub(super) fn quantified(&mut self, node: &QuantifiedNode) -> Value {
        let mut failed = false;
        let mut result = Some(node.every);
        let _ = self.each(&node.iterators, &mut failed, &mut |this| {
            match this.turn(&node.body) {
                Value::Boolean(value) if value != node.every => {
                    result = Some(value);
                    return ControlFlow::Break(());
                }
                Value::Boolean(_) => {}
                _ => result = None,
            }
            this.flow()
        });
        if failed {
            Value::Null
        } else {
            Value::from(result)
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Runs through all combinations of the iterators, the last one fastest.
    fn each(
        &mut self,
        iterators: &[IteratorNode],
        failed: &mut bool,
        visit: Visit<'_, 'a>,
    ) -> ControlFlow<()> {
        let Some((iterator, rest)) = iterators.split_first() else {
            return visit(self);
        };
        let Some(items) = self.items(&iterator.first, iterator.last.as_ref()) else {
            *failed = true;
            return ControlFlow::Break(());
        };
        match items {
            Items::List(list) => {
                for item in list.iter() {
                    self.step(iterator.slot, item.clone(), rest, failed, visit)?;
                }
            }
            Items::Numbers(first, last) => {
                for number in between(first, last) {
                    self.step(iterator.slot, Value::from(number), rest, failed, visit)?;
                }
            }
            Items::Steps(first, last) => {
                let mut next = Some(first);
                while let Some(number) = next.filter(|number| *number <= last) {
                    next = number.add(&Number::ONE).filter(|next| *next > number);
                    self.step(iterator.slot, Value::Number(number), rest, failed, visit)?;
                }
            }
            Items::Days(first, last) => {
                for day in between(first, last) {
                    let date = crate::Date::from_epoch_day(day).map_or(Value::Null, Value::Date);
                    self.step(iterator.slot, date, rest, failed, visit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn step(
        &mut self,
        slot: usize,
        item: Value,
        rest: &[IteratorNode],
        failed: &mut bool,
        visit: Visit<'_, 'a>,
    ) -> ControlFlow<()> {
        if !self.charge(prices::TURN) {
            return ControlFlow::Break(());
        }
        self.set(slot, item);
        self.each(rest, failed, visit)
    }

    fn items(&mut self, first: &Node, last: Option<&Node>) -> Option<Items> {
        let first = self.eval(first);
        let Some(last) = last else {
            return match first {
                Value::List(list) => Some(Items::List(list)),
                Value::Range(range) => self.range_items(&range),
                other => {
                    let message = format!("Expected List but found '{}'", quote(&other));
                    self.warn(WarningCode::InvalidType, message);
                    None
                }
            };
        };
        let last = self.eval(last);
        match (&first, &last) {
            (Value::Date(a), Value::Date(b)) => Some(Items::Days(a.epoch_day(), b.epoch_day())),
            (Value::Number(a), Value::Number(b))
                if a <= b && (a.to_i64().is_none() || b.to_i64().is_none()) =>
            {
                Some(Items::Steps(a.clone(), b.clone()))
            }
            _ => match (first.as_i64(), last.as_i64()) {
                (Some(a), Some(b)) => Some(Items::Numbers(a, b)),
                _ => {
                    let message = format!(
                        "Can't iterate from '{}' to '{}'",
                        quote(&first),
                        quote(&last)
                    );
                    self.warn(WarningCode::InvalidType, message);
                    None
                }
            },
        }
    }

    /// The whole numbers or days inside of a range.
    fn range_items(&mut self, range: &crate::Range) -> Option<Items> {
        let (low, high) = (
            i64::from(!range.start_included()),
            i64::from(!range.end_included()),
        );
        let bounds = match (range.start(), range.end()) {
            (Value::Date(a), Value::Date(b)) => Some((a.epoch_day(), b.epoch_day())),
            (a, b) => a.as_i64().zip(b.as_i64()),
        };
        match bounds {
            Some((a, b)) if a <= b => {
                let (first, last) = (a.saturating_add(low), b.saturating_sub(high));
                Some(if first > last {
                    Items::List(List::new(Vec::new()))
                } else if matches!(range.start(), Value::Date(_)) {
                    Items::Days(first, last)
                } else {
                    Items::Numbers(first, last)
                })
            }
            _ => {
                let message = format!("Can't iterate over '{range}'");
                self.warn(WarningCode::InvalidType, message);
                None
            }
        }
    }
}

/// From the first to the last, up or down.
fn between(first: i64, last: i64) -> Box<dyn Iterator<Item = i64>> {
    if first <= last {
        Box::new(first..=last)
    } else {
        Box::new((last..=first).rev())
    }
}

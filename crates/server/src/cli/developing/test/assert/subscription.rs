//! Assertions on messages that a process instance waits for or has received.

use super::process::{ended, first, none};
use crate::cli::search::word;
use crate::cli::test::instruction::{AssertSubscription, SubscriptionState};
use crate::cli::test::selector::Selector;
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::World;

pub async fn assert(world: &World, of: &AssertSubscription) -> Result<(), Wrong> {
    let (selector, message) = (&of.process_instance_selector, &of.message_selector);
    let expected = format!("{message} is {} by {selector}", of.state.words());
    let search = world.search();
    until(world.timeout, &expected, async || {
        let Some(instance) = first(&search, selector).await? else {
            return Ok(Look::NotYet(none(selector)));
        };
        let key = word(&instance, "processInstanceKey");
        let (what, field) = match of.state {
            SubscriptionState::IsCorrelated => {
                ("correlated-message-subscriptions/search", "subscriptionKey")
            }
            _ => ("message-subscriptions/search", "messageSubscriptionKey"),
        };
        let mut filter = message.filter();
        filter.insert("processInstanceKey".into(), key.as_str().into());
        if of.state != SubscriptionState::IsCorrelated {
            filter.insert("messageSubscriptionState".into(), "CREATED".into());
        }
        let some = !search.ours(what, field, filter).await?.is_empty();
        let holds = some != (of.state == SubscriptionState::IsNotWaiting);
        if holds {
            return Ok(Look::Holds(()));
        }
        let all = search.of_instance(
            "message-subscriptions/search",
            "messageSubscriptionKey",
            &key,
        );
        let all: Vec<String> = all
            .await?
            .iter()
            .map(|found| {
                format!(
                    "'{}' with correlation key '{}' {}",
                    word(found, "messageName"),
                    word(found, "correlationKey"),
                    word(found, "messageSubscriptionState")
                )
            })
            .collect();
        Ok(Look::at(false, ended(&instance), || {
            if all.is_empty() {
                "it has no message subscription".into()
            } else {
                format!("message subscriptions: {}", all.join(", "))
            }
        }))
    })
    .await
}

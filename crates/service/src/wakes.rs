//! Wakes many tasks of another thread at once.
//!
//! Waking a task of a sleeping runtime costs a system call, and a partition that has committed a batch has hundreds of answers for a few
//! threads. So each thread that serves connections has a [`Post`], with one task that waits for it. The partition leaves a list of the
//! tasks to wake there and rings once; the task wakes the others from within their thread, at almost no cost.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use super::ring::{is_due, silence};

thread_local! {
    /// The number of this thread's post.
    static HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// All posts by number. Numbers are not reused: a process has only a few of them.
static POSTS: Mutex<Vec<Weak<Post>>> = Mutex::new(Vec::new());

fn posts() -> MutexGuard<'static, Vec<Weak<Post>>> {
    POSTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A waiting task, and the post of its thread.
#[derive(Debug)]
pub struct Sleeper {
    waker: Waker,
    post: Option<usize>,
}

impl Sleeper {
    /// The task that is being polled.
    pub fn of(cx: &Context<'_>) -> Sleeper {
        Sleeper {
            waker: cx.waker().clone(),
            post: HERE.get(),
        }
    }

    /// Follows the task, which may be another one by now.
    pub fn follow(&mut self, cx: &Context<'_>) {
        self.waker.clone_from(cx.waker());
        self.post = HERE.get();
    }

    /// Wakes the task immediately.
    pub fn wake(self) {
        self.waker.wake();
    }
}

/// Where a thread finds which of its tasks have something new.
#[derive(Debug, Default)]
pub struct Post(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    tasks: Vec<Waker>,
    /// The task that empties the post.
    bell: Option<Waker>,
}

impl Post {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the calling thread a post and serves it forever, and rings ([`Broker::ring`](super::Broker::ring)) for the requests that its
    /// tasks hand to the broker. To be run beside the thread's tasks, in their runtime, which must not move tasks to other threads.
    pub async fn serve(ring: impl Fn()) {
        let post = Arc::new(Post::default());
        let _here = Here::take(&post);
        let mut tasks = Vec::new();
        poll_fn(|cx| {
            {
                let mut inside = post.inside();
                std::mem::swap(&mut tasks, &mut inside.tasks);
                match &mut inside.bell {
                    Some(bell) => bell.clone_from(cx.waker()),
                    bell => *bell = Some(cx.waker().clone()),
                }
            }
            tasks.drain(..).for_each(Waker::wake);
            if is_due(cx) {
                ring();
            }
            Poll::Pending
        })
        .await
    }

    fn leave(&self, tasks: &mut Vec<Waker>) {
        let bell = {
            let mut inside = self.inside();
            // If tasks are left there already, somebody has rung, and it was not heard yet.
            let quiet = inside.tasks.is_empty();
            inside.tasks.append(tasks);
            inside.bell.take_if(|_| quiet)
        };
        if let Some(bell) = bell {
            bell.wake();
        }
    }
}

/// Makes a post that of this thread, for as long as the value lives.
struct Here;

impl Here {
    fn take(post: &Arc<Post>) -> Here {
        let mut posts = posts();
        HERE.set(Some(posts.len()));
        posts.push(Arc::downgrade(post));
        Here
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        HERE.set(None);
        silence();
    }
}

/// The tasks that one thread has to wake, by their posts.
#[derive(Debug, Default)]
pub struct Wakes {
    /// Tasks of threads without a post.
    others: Vec<Waker>,
    posts: Vec<(usize, Weak<Post>, Vec<Waker>)>,
}

impl Wakes {
    pub fn add(&mut self, Sleeper { waker, post }: Sleeper) {
        let Some(number) = post else {
            return self.others.push(waker);
        };
        if let Some((_, _, tasks)) = self.posts.iter_mut().find(|(known, ..)| *known == number) {
            return tasks.push(waker);
        }
        let found = posts().get(number).cloned();
        self.posts
            .push((number, found.unwrap_or_default(), vec![waker]));
    }

    /// Wakes all tasks that were added.
    pub fn give(&mut self) {
        self.others.drain(..).for_each(Waker::wake);
        let mut gone = false;
        for (_, post, tasks) in &mut self.posts {
            if tasks.len() < 2 {
                // The detour over the post would take longer.
                tasks.drain(..).for_each(Waker::wake);
            } else if let Some(post) = post.upgrade() {
                post.leave(tasks);
            } else {
                tasks.drain(..).for_each(Waker::wake);
                gone = true;
            }
        }
        if gone {
            self.posts.retain(|(_, post, _)| post.strong_count() > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::super::rings_later;
    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Count {
        fn taken(&self) -> usize {
            self.0.swap(0, Ordering::SeqCst)
        }
    }

    fn sleeper(count: &Arc<Count>) -> Sleeper {
        let waker = Waker::from(Arc::clone(count));
        Sleeper::of(&Context::from_waker(&waker))
    }

    #[test]
    fn partitions_are_woken_once_for_many_requests_and_at_once_for_a_long_row() {
        let (rung, count) = (Cell::new(0), Arc::<Count>::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        assert!(!rings_later(), "nobody serves this thread yet");
        {
            let mut serving = pin!(Post::serve(|| rung.set(rung.get() + 1)));
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!((rung.get(), count.taken()), (0, 0));
            assert!((0..5).all(|_| rings_later()));
            assert_eq!(count.taken(), 1);
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!(rung.get(), 1);
            // In a long sequence some wake-ups are rung by the caller that adds them, and the rest at the end.
            let at_once = (0..40).filter(|_| !rings_later()).count();
            assert_eq!(at_once, 2);
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!(rung.get(), 2);
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!(rung.get(), 2, "there was nothing new");
            // The last of these wakes at once; the others could have been for other partitions.
            let at_once = (0..16).filter(|_| !rings_later()).count();
            assert_eq!(at_once, 1);
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!(rung.get(), 3);
        }
        assert!(!rings_later());
    }

    #[test]
    fn a_post_is_rung_once_for_many_and_wakes_them_from_its_thread() {
        let (bell, task) = (Arc::<Count>::default(), Arc::<Count>::default());
        let waker = Waker::from(Arc::clone(&bell));
        let mut cx = Context::from_waker(&waker);
        let mut wakes = Wakes::default();
        {
            let mut serving = pin!(Post::serve(|| ()));
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            for _ in 0..2 {
                (0..3).for_each(|_| wakes.add(sleeper(&task)));
                wakes.give();
            }
            assert_eq!((bell.taken(), task.taken()), (1, 0));
            assert!(serving.as_mut().poll(&mut cx).is_pending());
            assert_eq!((bell.taken(), task.taken()), (0, 6));
            // A single task is woken directly.
            wakes.add(sleeper(&task));
            wakes.give();
            assert_eq!((bell.taken(), task.taken()), (0, 1));
            // The bell works again.
            (0..2).for_each(|_| wakes.add(sleeper(&task)));
            wakes.give();
            assert_eq!((bell.taken(), task.taken()), (1, 0));
            (0..2).for_each(|_| wakes.add(sleeper(&task)));
        }
        // The thread no longer serves its post: no task is forgotten.
        wakes.give();
        assert_eq!(task.taken(), 2);
        wakes.add(sleeper(&task));
        wakes.give();
        assert_eq!(task.taken(), 1);
    }
}

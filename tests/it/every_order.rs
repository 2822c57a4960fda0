//! Every order in which the requests of several actors can come, one order after the other.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

/// For each point of a run: which of those that could go on was let on, and of how many.
pub(crate) type Choices = Vec<(usize, usize)>;

/// Lets its actor on by one request at a time.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<AtomicBool>);

impl Gate {
    pub(crate) fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) async fn pass(&self) {
        std::future::poll_fn(|_| {
            if self.0.swap(false, Ordering::SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// An actor that waits for nothing but its gate.
pub(crate) type Actor = Pin<Box<dyn Future<Output = ()>>>;

/// Runs the actors in this order, the first one where it says nothing any more; `after` is told who has just
/// done a request.
pub(crate) fn in_order(
    order: &[usize],
    gates: &[Gate],
    actors: Vec<Actor>,
    mut after: impl FnMut(usize),
) -> Choices {
    let mut actors: Vec<Option<Actor>> = actors.into_iter().map(Some).collect();
    let mut choices = Choices::new();
    loop {
        let live = (0..actors.len()).filter(|at| actors[*at].is_some());
        let live: Vec<usize> = live.collect();
        if live.is_empty() {
            return choices;
        }
        let at = choose(order, &mut choices, &live);
        gates[at].open();
        let actor = actors[at].as_mut().unwrap().as_mut();
        if actor
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
        {
            actors[at] = None;
        }
        after(at);
    }
}

/// Who is let on next, of those that live.
pub(crate) fn choose(order: &[usize], choices: &mut Choices, live: &[usize]) -> usize {
    let choice = order.get(choices.len()).copied().unwrap_or(0);
    choices.push((choice, live.len()));
    live[choice]
}

/// Every order; answers how many there were.
pub(crate) fn every_order(mut run: impl FnMut(&[usize]) -> Choices) -> usize {
    let mut order: Vec<usize> = Vec::new();
    let mut count = 0;
    loop {
        let choices = run(&order);
        count += 1;
        let next = choices.iter().rposition(|(choice, of)| choice + 1 < *of);
        let Some(next) = next else { return count };
        order = choices[..=next].iter().map(|(choice, _)| *choice).collect();
        order[next] += 1;
    }
}

/// The answer of a port that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the port waits for something"),
    }
}

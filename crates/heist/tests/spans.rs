//! Spans of the crate `tracing` follow the work of a call, and no other work (RG-1).

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use heist::prelude::*;
use heist::{with_propagation, ThreadPoolBuilder};
use tracing::{info, info_span, Event, Span, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::Layer;

/// For each event its target, and the names of the spans around it, outermost first.
type Log = Arc<Mutex<Vec<(String, Vec<&'static str>)>>>;

struct Notes(Log);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Notes {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let spans = context.event_scope(event).into_iter();
        let names = spans
            .flat_map(tracing_subscriber::registry::Scope::from_root)
            .map(|span| span.name());
        let target = event.metadata().target().to_owned();
        self.0.lock().unwrap().push((target, names.collect()));
    }
}

fn in_span<R: Send>(span: Span, op: impl FnOnce() -> R + Send) -> R {
    with_propagation(
        Arc::new(move |run: &mut dyn FnMut()| span.in_scope(run)),
        op,
    )
}

#[test]
fn events_lie_in_the_span_of_their_call_under_theft_and_among_foreign_jobs() {
    let log = Log::default();
    let subscriber = tracing_subscriber::registry().with(Notes(Arc::clone(&log)));
    tracing::subscriber::set_global_default(subscriber).expect("the first");
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let rounds = 50;
    for _ in 0..rounds {
        pool.spawn(|| info!(target: "foreign", "beside the request"));
        pool.install(|| {
            in_span(info_span!("request"), || {
                heist::spawn(|| info!(target: "late", "nobody waits for it"));
                let (say, is_stolen) = channel();
                heist::join(
                    // Comes to its end when another worker has the other half.
                    move || {
                        is_stolen.recv().expect("it is stolen");
                        info!(target: "request", "here");
                    },
                    move || {
                        say.send(()).unwrap();
                        in_span(info_span!("query"), || {
                            (0..100)
                                .into_par_iter()
                                .for_each(|_| info!(target: "query", "item"));
                        });
                        info!(target: "request", "there");
                    },
                );
            });
            info!(target: "foreign", "after it");
        });
    }
    pool.shutdown();
    let log = log.lock().unwrap();
    let count = |target: &str, spans: &[&str]| {
        let lies = |(of, within): &&(String, Vec<_>)| of == target && within == spans;
        log.iter().filter(lies).count()
    };
    assert_eq!(count("foreign", &[]), 2 * rounds);
    assert_eq!(count("late", &["request"]), rounds);
    assert_eq!(count("request", &["request"]), 2 * rounds);
    assert_eq!(count("query", &["request", "query"]), 100 * rounds);
    assert_eq!(log.len(), 105 * rounds);
}

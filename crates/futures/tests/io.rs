//! Sockets and timers wake futures on workers, of any pool, and local ones.

use std::future::{poll_fn, Future};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use heist_core::{Callers, JoinError, ThreadPool, ThreadPoolBuilder};
use heist_futures::io::{self, Async, Timer};
use heist_futures::{block_on, spawn_future, yield_now, SpawnFuture};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.callers(Callers::Move).build().expect("a pool")
}

/// Sends back what it gets, until the other side has said all.
async fn echo(listener: Async<TcpListener>) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        drop(spawn_future(async move {
            let mut bytes = [0; 512];
            loop {
                let len = stream.read(&mut bytes).await.expect("it can be read");
                if len == 0 {
                    break;
                }
                stream.write_all(&bytes[..len]).await.expect("it is read");
            }
        }));
    }
}

#[test]
fn a_hundred_connections_are_served_by_one_and_by_two_workers() {
    for workers in [1, 2] {
        let pool = pool(workers);
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let mut server = pool.spawn_future(echo(listener));
        let clients: Vec<_> = (0..100_usize)
            .map(|n| {
                pool.spawn_future(async move {
                    let mut stream = Async::<TcpStream>::connect(address).await.unwrap();
                    for round in 0..10 {
                        let said = format!("{n} in round {round}");
                        stream.write_all(said.as_bytes()).await.unwrap();
                        let mut heard = vec![0; said.len()];
                        stream.read_exact(&mut heard).await.unwrap();
                        assert_eq!(heard, said.as_bytes());
                    }
                })
            })
            .collect();
        for client in clients {
            client.join();
        }
        server.abort();
    }
}

#[test]
fn a_socket_of_a_local_future_stays_on_its_worker() {
    let pool = pool(2);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = pool.spawn_local_on(1, move || async move {
        let listener = Rc::new(Async::new(listener).unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        (text, heist_core::current_thread_index())
    });
    let client = async {
        let mut stream = Async::<TcpStream>::connect(address).await.unwrap();
        stream.write_all(b"from outside").await.unwrap();
    };
    block_on(client);
    assert_eq!(server.join(), ("from outside".to_owned(), Some(1)));
}

#[test]
fn no_timer_ends_too_soon() {
    let pool = pool(2);
    let began = Instant::now();
    let handles: Vec<_> = (0..50_u64)
        .map(|n| {
            let time = Duration::from_millis(n % 5);
            pool.spawn_future(async move {
                Timer::after(time).await;
                assert!(began.elapsed() >= time);
            })
        })
        .collect();
    for handle in handles {
        handle.join();
    }
}

#[test]
fn a_pool_ends_while_its_futures_wait_for_a_timer_and_a_socket() {
    let pool = pool(2);
    let far = Duration::from_secs(3_600);
    let local = pool.spawn_local_on(0, move || async move {
        Timer::after(far).await;
    });
    // Wakes when the pool has ended.
    let soon = pool.spawn_future(async {
        for _ in 0..10_000 {
            Timer::after(Duration::from_millis(1)).await;
        }
    });
    pool.shutdown();
    assert!(matches!(block_on(local), Err(JoinError::Cancelled)));
    assert!(matches!(block_on(soon), Err(JoinError::Cancelled)));
}

/// A pool whose workers wait for the sockets themselves.
fn driven(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.drive_workers(io::drive).build().expect("a pool")
}

#[test]
fn workers_that_wait_for_sockets_serve_a_hundred_connections() {
    for workers in [1, 3] {
        let (pool, computing) = (driven(workers), Arc::new(pool(2)));
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let mut server = pool.spawn_future(echo(listener));
        let clients: Vec<_> = (0..100_usize)
            .map(|n| {
                let computing = Arc::clone(&computing);
                pool.spawn_future(async move {
                    let mut stream = Async::<TcpStream>::connect(address).await.unwrap();
                    for round in 0..10 {
                        let said = computing.submit(move || format!("{n} in round {round}"));
                        let said = said.await.unwrap();
                        stream.write_all(said.as_bytes()).await.unwrap();
                        let mut heard = vec![0; said.len()];
                        stream.read_exact(&mut heard).await.unwrap();
                        assert_eq!(heard, said.as_bytes());
                        if n % 16 == 0 {
                            Timer::after(Duration::from_micros(500)).await;
                        }
                    }
                })
            })
            .collect();
        for client in clients {
            client.join();
        }
        server.abort();
    }
}

/// A socket wakes the future on the thread that has waited for it: not always, since the reactor
/// has a thread of its own, and workers of other tests wait there too.
#[test]
#[cfg(unix)]
fn a_socket_is_waited_for_where_its_future_runs() {
    struct Noting(Waker, Arc<Mutex<Option<ThreadId>>>);
    impl Wake for Noting {
        fn wake(self: Arc<Self>) {
            *self.1.lock().unwrap() = Some(std::thread::current().id());
            self.0.wake_by_ref();
        }
    }
    let pool = driven(1);
    let worker = pool.install(|| std::thread::current().id());
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    let far = Arc::new(Async::new(far).unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    let woken_by = Arc::new(Mutex::new(None));
    while *woken_by.lock().unwrap() != Some(worker) {
        assert!(Instant::now() < deadline, "another thread wakes it always");
        let (far, noted) = (Arc::clone(&far), Arc::clone(&woken_by));
        let future = pool.spawn_future(async move {
            let mut read = [0; 1];
            let mut reading = pin!(async { (&*far).read_exact(&mut read).await });
            poll_fn(|context| {
                let noting = Noting(context.waker().clone(), Arc::clone(&noted));
                let waker = Waker::from(Arc::new(noting));
                reading.as_mut().poll(&mut Context::from_waker(&waker))
            })
            .await
        });
        std::thread::sleep(Duration::from_millis(2));
        std::io::Write::write_all(&mut &near, b"x").unwrap();
        future.join().unwrap();
    }
}

/// One worker, and the number of times that it has been polled.
fn driven_and_counted() -> (ThreadPool, Arc<AtomicUsize>) {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.drive_workers(move |mut main_loop| {
        io::drive(pin!(poll_fn(|context| {
            counted.fetch_add(1, Ordering::Relaxed);
            main_loop.as_mut().poll(context)
        })));
    });
    (builder.build().expect("a pool"), polls)
}

/// Computes for so many microseconds; after 200, the function that drives has its turn.
fn compute(micros: u64) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(micros) {
        std::hint::spin_loop();
    }
}

/// FU-2, though each turn is shorter than what that counts.
#[test]
fn jobs_that_spawn_each_other_let_a_future_have_its_turn_on_a_driven_worker() {
    const JOBS: usize = 2000;
    fn again(left: usize, say: Sender<()>) {
        compute(210);
        match left {
            0 => say.send(()).expect("the test waits"),
            _ => heist_core::spawn(move || again(left - 1, say)),
        }
    }
    let ((pool, _), ran) = (driven_and_counted(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&ran);
    let (say, heard) = channel();
    let mut future = pool.spawn_future(async move {
        heist_core::spawn(move || again(JOBS, say));
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    });
    heard.recv().expect("the jobs run");
    let ran = ran.load(Ordering::Relaxed);
    assert!(ran > JOBS / 70, "it ran {ran} times beside {JOBS} jobs");
    future.abort();
}

#[test]
fn the_function_has_its_turn_beside_futures_that_yield() {
    let ((pool, polls), ran) = (driven_and_counted(), Arc::new(AtomicUsize::new(0)));
    let futures: Vec<_> = (0..10)
        .map(|_| {
            let ran = Arc::clone(&ran);
            pool.spawn_future(async move {
                for _ in 0..50 {
                    ran.fetch_add(1, Ordering::Relaxed);
                    compute(210);
                    yield_now().await;
                }
            })
        })
        .collect();
    for future in futures {
        future.join();
    }
    let (polls, ran) = (polls.load(Ordering::Relaxed), ran.load(Ordering::Relaxed));
    assert!(
        polls > ran / 2,
        "{polls} turns beside {ran} polls of futures"
    );
}

/// FU-2, for those that a driven worker's function wakes whenever it has a turn.
#[test]
fn futures_that_the_function_wakes_have_their_turns() {
    const FUTURES: usize = 32;
    const POLLS: usize = 50;
    let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let woken = Arc::clone(&wakers);
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.drive_workers(move |mut main_loop| {
        io::drive(pin!(poll_fn(|context| {
            let wakers = std::mem::take(&mut *woken.lock().unwrap());
            wakers.into_iter().for_each(Waker::wake);
            let state = main_loop.as_mut().poll(context);
            if !woken.lock().unwrap().is_empty() {
                context.waker().wake_by_ref();
            }
            state
        })));
    });
    let (pool, log) = (builder.build().expect("a pool"), Arc::default());
    let futures: Vec<_> = (0..FUTURES)
        .map(|index| {
            let (wakers, log) = (Arc::clone(&wakers), Arc::<Mutex<Vec<_>>>::clone(&log));
            let mut left = POLLS;
            pool.spawn_future(poll_fn(move |context| {
                // Of a turn's 200 us, a quarter of them have time.
                compute(25);
                log.lock().unwrap().push(index);
                left -= 1;
                if left == 0 {
                    return Poll::Ready(());
                }
                wakers.lock().unwrap().push(context.waker().clone());
                Poll::Pending
            }))
        })
        .collect();
    for future in futures {
        future.join();
    }
    let (log, mut last) = (log.lock().unwrap(), [0; FUTURES]);
    for (now, &index) in log.iter().enumerate() {
        let others = now - last[index];
        assert!(
            others <= FUTURES + 61,
            "{index} waited for {others}: {log:?}"
        );
        last[index] = now;
    }
}

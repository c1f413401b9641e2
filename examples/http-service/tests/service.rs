//! The service, asked by clients that know nothing of futures.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::future::{pending, Future};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::pin;
use std::process::Command;
#[cfg(unix)]
use std::process::{Child, Stdio};
use std::sync::{mpsc, Arc, LazyLock};
use std::task::{Context, Waker};
use std::thread;

use heist::futures::{block_on, FutureHandle, JoinError, SpawnFuture};
use heist::{ThreadPool, ThreadPoolBuilder};
use http_service::picture::Picture;
use http_service::server::{connections, pictures, serve, thumbnail, Studio};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

static STUDIO: LazyLock<Arc<Studio>> = LazyLock::new(|| {
    Arc::new(Studio {
        picture: Picture::rings(160, 120),
        pool: pictures().expect("a pool"),
    })
});
static CONNECTIONS: LazyLock<ThreadPool> = LazyLock::new(|| connections().expect("a pool"));

fn start() -> SocketAddr {
    start_until(Arc::clone(&STUDIO), pending::<()>()).0
}

/// Where it listens until the `end`, and what waits for its last answer.
fn start_until(
    studio: Arc<Studio>,
    end: impl Future<Output: Send> + Send + 'static,
) -> (SocketAddr, FutureHandle<()>) {
    let (say, heard) = mpsc::channel();
    let service = CONNECTIONS.spawn_future(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        say.send(address).expect("it is waited for");
        serve(listener, studio, end).await;
    });
    (heard.recv().expect("it starts"), service)
}

/// A connection that is kept, and asks one thing after the other.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(address: SocketAddr) -> Self {
        Self(BufReader::new(
            TcpStream::connect(address).expect("it listens"),
        ))
    }

    /// The status and the body.
    fn ask(&mut self, request: &str) -> (u32, Vec<u8>) {
        self.send(request);
        self.answer()
    }

    fn send(&mut self, request: &str) {
        let head = format!("{request} HTTP/1.1\r\nhost: here\r\n\r\n");
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes()).expect("it reads");
    }

    fn answer(&mut self) -> (u32, Vec<u8>) {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a status");
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
        let mut len = None;
        loop {
            line.clear();
            self.0.read_line(&mut line).expect("a header");
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => len = value.parse().ok(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; len.expect("a length")];
        self.0.read_exact(&mut body).expect("a body");
        (status.expect("a number"), body)
    }
}

#[test]
fn each_of_many_clients_gets_the_pictures_that_it_asks_for() {
    let address = start();
    thread::scope(|threads| {
        for n in 0..8 {
            threads.spawn(move || {
                let mut client = Client::new(address);
                for round in 0..5 {
                    let width = 1 + 29 * n + round;
                    let (status, body) = client.ask(&format!("GET /thumbnail/{width}"));
                    assert_eq!(status, 200);
                    assert!(body == STUDIO.picture.thumbnail(width), "{width}");
                }
                assert_eq!(client.ask("GET /"), (200, b"ready\n".to_vec()));
            });
        }
    });
}

#[test]
fn a_request_that_makes_no_sense_is_told_why() {
    let mut client = Client::new(start());
    for (request, status, why) in [
        (
            "GET /nothing",
            404,
            "there is no /nothing; ask for / or /thumbnail/WIDTH",
        ),
        ("POST /", 405, "this service understands GET and HEAD only"),
        (
            "GET /thumbnail/0",
            400,
            "the width \"0\" is no number from 1 to 800",
        ),
        (
            "GET /thumbnail/801",
            400,
            "the width \"801\" is no number from 1 to 800",
        ),
        (
            "GET /thumbnail/",
            400,
            "the width \"\" is no number from 1 to 800",
        ),
    ] {
        let (code, body) = client.ask(request);
        assert_eq!(
            (code, String::from_utf8(body)),
            (status, Ok(format!("{why}\n")))
        );
    }
}

#[test]
fn head_is_get_without_its_body_and_other_methods_learn_which_are_allowed() {
    let address = start();
    let ask = |method: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let (get, head, delete) = (ask("GET"), ask("HEAD"), ask("DELETE"));
    for answer in [&get, &head, &delete] {
        assert!(answer.contains("content-type: text/plain; charset=utf-8\r\n"));
    }
    assert!(get.starts_with("HTTP/1.1 200") && get.ends_with("\r\n\r\nready\n"));
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"));
    assert!(delete.starts_with("HTTP/1.1 405") && delete.contains("allow: GET, HEAD\r\n"));
}

#[test]
fn a_request_without_its_host_is_refused_as_the_standard_demands() {
    let address = start();
    let status = |version: &str, hosts: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET / {version}\r\n{hosts}connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    for hosts in [
        "",
        "host: a\r\nhost: a\r\n",
        "host: a b\r\n",
        "host: me@a\r\n",
    ] {
        assert_eq!(status("HTTP/1.1", hosts), "400", "{hosts:?}");
    }
    for hosts in ["host:\r\n", "host: a\r\n", "host: [::1]:80\r\n"] {
        assert_eq!(status("HTTP/1.1", hosts), "200", "{hosts:?}");
    }
    assert_eq!(status("HTTP/1.0", ""), "200");
}

/// Where the program listens, which its first line says.
#[cfg(unix)]
fn address_in(line: &str) -> SocketAddr {
    let at = line.strip_prefix("http-service: at http://");
    let address = at.and_then(|at| at.split('/').next()?.parse().ok());
    address.expect(line)
}

/// Sends a signal, such as `-TERM`.
#[cfg(unix)]
fn signal(service: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    let status = kill.arg(signal).arg(service.id().to_string()).status();
    assert!(status.expect("it is there").success());
}

/// The program, with these arguments.
fn program(arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_http-service"));
    program.args(arguments).env("RUST_BACKTRACE", "0");
    program
}

#[test]
fn a_malformed_setting_is_an_error_that_says_so_and_nothing_listens() {
    let says = |program: &mut Command| {
        let output = program.output().expect("it runs");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = says(program(&["--address", "127.0.0.1:0"]).env("HEIST_NUM_THREADS", "two"));
    assert!(said.starts_with("Error: could not start the workers") && said.contains("\"two\""));
    assert!(said.contains("accepted is a whole number from 0 to"));
    let said = says(&mut program(&["--address", "localhost:8080"]));
    assert!(said.contains("localhost:8080") && said.contains("such as 127.0.0.1:8080"));
}

#[test]
#[cfg(target_os = "linux")]
fn it_serves_though_what_it_says_cannot_be_written() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let address = free.expect("a free port");
    let full = File::options().write(true).open("/dev/full");
    let mut service = program(&["--address", &address.to_string()])
        .stderr(full.expect("a full disk"))
        .spawn()
        .expect("it runs");
    let mut status = None;
    while status.is_none() && TcpStream::connect(address).is_err() {
        status = service.try_wait().expect("a status");
        thread::yield_now();
    }
    let answer = status.is_none().then(|| Client::new(address).ask("GET /"));
    let _ = service.kill();
    let _ = service.wait();
    assert_eq!(answer, Some((200, b"ready\n".to_vec())), "{status:?}");
}

#[test]
fn a_panic_in_a_connection_is_not_the_end_of_the_service() {
    let mut client = Client::new(start());
    let (say, heard) = mpsc::channel::<()>();
    let panics = CONNECTIONS.spawn_future(async {
        let _say = say;
        panic!("expected")
    });
    drop::<FutureHandle<()>>(panics);
    heard.recv().expect_err("it is said by the panic");
    assert_eq!(client.ask("GET /"), (200, b"ready\n".to_vec()));
    // Nor is one in a picture that nobody waits for.
    let (say, heard) = mpsc::channel::<()>();
    STUDIO.pool.spawn(|| {
        let _say = say;
        panic!("expected")
    });
    heard.recv().expect_err("it is said by the panic");
    assert_eq!(client.ask("GET /"), (200, b"ready\n".to_vec()));
    // Its waiter learns of the panic of a picture.
    let too_wide = CONNECTIONS.spawn_future(thumbnail(Arc::clone(&STUDIO), 10_000));
    assert!(matches!(block_on(too_wide), Err(JoinError::Panicked(_))));
    assert_eq!(client.ask("GET /"), (200, b"ready\n".to_vec()));
}

#[test]
fn a_picture_whose_client_is_gone_is_not_computed() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let studio = Arc::new(Studio {
        picture: Picture::rings(16, 12),
        pool: pool.expect("a pool"),
    });
    studio.pool.install(|| {
        {
            let mut request = pin!(thumbnail(Arc::clone(&studio), 8));
            let mut context = Context::from_waker(Waker::noop());
            // The only worker is here, so it has not begun.
            assert!(request.as_mut().poll(&mut context).is_pending());
            assert_eq!(Arc::strong_count(&studio), 3);
        }
        assert_eq!(Arc::strong_count(&studio), 1);
    });
}

#[test]
fn at_its_end_the_service_gives_the_answers_that_it_owes_and_closes_the_rest() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let studio = Arc::new(Studio {
        picture: Picture::rings(16, 12),
        pool: pool.expect("a pool"),
    });
    let (goes_on, ends) = oneshot::channel::<()>();
    let (address, service) = start_until(Arc::clone(&studio), ends);
    let (mut idle, mut waiting) = (Client::new(address), Client::new(address));
    for client in [&mut idle, &mut waiting] {
        assert_eq!(client.ask("GET /").0, 200);
    }
    let (release, held) = mpsc::channel::<()>();
    studio.pool.spawn(move || _ = held.recv());
    let before = Arc::strong_count(&studio);
    waiting.send("GET /thumbnail/8");
    // The request has one share, and the picture, which waits for the only worker.
    while Arc::strong_count(&studio) < before + 2 {
        thread::yield_now();
    }
    drop(goes_on);
    assert_eq!(idle.0.read(&mut [0]).expect("it is closed in order"), 0);
    TcpStream::connect(address).expect_err("nobody listens");
    assert!(!service.is_finished());
    drop(release);
    let (status, body) = waiting.answer();
    assert!(status == 200 && body == studio.picture.thumbnail(8));
    service.join();
}

/// Nothing is owed to it, and it may never be complete.
#[test]
fn a_first_request_that_is_half_there_does_not_keep_the_service_from_its_end() {
    let (goes_on, ends) = oneshot::channel::<()>();
    let (address, service) = start_until(Arc::clone(&STUDIO), ends);
    let (mut half, mut other) = (Client::new(address), Client::new(address));
    let head = half.0.get_mut().write_all(b"GET / HTTP/1.1\r\nho");
    head.expect("it is there");
    // It has come, and the service has read it, before the last answer.
    for _ in 0..3 {
        assert_eq!(other.ask("GET /").0, 200);
    }
    drop(goes_on);
    for client in [&mut half, &mut other] {
        assert_eq!(client.0.read(&mut [0]).expect("it is closed in order"), 0);
    }
    service.join();
}

/// A client that opens more connections than it has files, again and again, does not fill its log.
#[test]
#[cfg(target_os = "linux")]
fn it_goes_on_when_files_run_out_and_says_so_once() {
    let mut shell = Command::new("sh");
    let limited = "ulimit -n 24; exec \"$0\" --address 127.0.0.1:0";
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_http-service")]);
    let mut service = shell.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = BufReader::new(service.stderr.take().expect("a pipe")).lines();
    let at = said.next().and_then(Result::ok).unwrap_or_default();
    let address = address_in(&at);
    for _ in 0..2 {
        let mut clients: Vec<_> = (0..30).map(|_| Client::new(address)).collect();
        for _ in 0..3 {
            assert_eq!(clients[0].ask("GET /").0, 200);
        }
    }
    assert_eq!(Client::new(address).ask("GET /").0, 200);
    signal(&service, "-TERM");
    let said: Vec<_> = said.map(|line| line.expect("text")).collect();
    assert!(service.wait().expect("it ends").success(), "{said:?}");
    assert!(
        said.len() == 2 && said[0].contains("could not accept"),
        "{said:?}"
    );
}

#[test]
#[cfg(unix)]
fn a_signal_ends_it_in_order() {
    for kind in ["-INT", "-TERM"] {
        let mut command = program(&["--address", "127.0.0.1:0"]);
        let mut service = command.stderr(Stdio::piped()).spawn().expect("it runs");
        let mut said = BufReader::new(service.stderr.take().expect("a pipe")).lines();
        let mut line = || {
            said.next()
                .map(|line| line.expect("text"))
                .unwrap_or_default()
        };
        let mut client = Client::new(address_in(&line()));
        assert_eq!(client.ask("GET /").0, 200);
        signal(&service, kind);
        assert_eq!(client.0.read(&mut [0]).expect("it is closed in order"), 0);
        assert!(service.wait().expect("it ends").success(), "{kind}");
        assert_eq!(line(), "http-service: ends when the last answer is given");
        assert_eq!(line(), "");
    }
}

//! Stores in which names come again.

use super::*;

fn open(folder: &Path) -> Store {
    Store::open(folder, |problem| panic!("{problem}")).expect("a store")
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        epoch: 0,
        progress: 0.0,
        state: Arc::new(Vec::new()),
    }
}

/// Notes a job called "nightly".
fn add(store: &Store, job: u64) {
    let description = Description {
        job,
        kind: "sums".to_owned(),
        version: 1,
        options: JobOptions::new("nightly"),
        place: 0,
    };
    store.add(&description, &checkpoint()).expect("it is noted");
}

/// Ends a job with a result that names it.
fn end(store: &Store, job: u64) {
    let (sender, receiver) = mpsc::channel();
    let result = Ok(job.to_le_bytes().to_vec());
    store.close(job, result, move |_| sender.send(()).expect("we wait"));
    receiver.recv().expect("it is on disk");
}

/// The job whose result is found under the name.
fn found(store: &Store) -> Option<u64> {
    let (description, result) = store.result(&JobId::from("nightly")).expect("a store")?;
    let bytes = result.expect("it went well");
    let job = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    assert_eq!(job, description.job);
    Some(job)
}

/// Numbers that rise, fall and lie about.
fn numbers() -> impl Iterator<Item = u64> {
    (1..=12).flat_map(|n: u64| [n, u64::MAX - n, n.wrapping_mul(0x9e37_79b9_7f4a_7c15)])
}

#[test]
fn a_name_that_is_used_again_stands_for_the_last_job() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(found(&open(folder.path())), None);
    for (run, job) in numbers().enumerate() {
        // Some drivers run one job, and some two.
        let store = open(folder.path());
        for job in [job, job ^ 1 << 40].into_iter().take(1 + run % 2) {
            add(&store, job);
            end(&store, job);
            assert_eq!(found(&store), Some(job), "run {run}");
        }
    }
}

#[test]
fn a_name_whose_last_job_is_not_over_has_no_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    for job in numbers() {
        add(&store, job);
        assert_eq!(found(&store), None, "before job {job:x} has ended");
        end(&store, job);
    }
}

#[test]
fn a_store_that_does_not_know_the_order_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    for job in [1, 2] {
        add(&store, job);
        end(&store, job);
        let path = job_folder(folder.path(), job).join("job.json");
        let json = fs::read(&path).expect("a description");
        let mut json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        json.as_object_mut().and_then(|json| json.remove("place"));
        fs::write(&path, json.to_string()).expect("it is written");
    }
    let error = store.result(&JobId::from("nightly")).map(drop);
    let Err(ClusterErrorKind::Store(error)) = error else {
        panic!("it cannot know: {error:?}");
    };
    assert!(error.contains("several jobs"), "{error}");
}

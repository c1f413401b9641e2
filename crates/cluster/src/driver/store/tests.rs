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
    store.close(job, result, move |_, stored| {
        sender.send(stored).expect("we wait");
    });
    assert_eq!(receiver.recv(), Ok(Ok(())), "it is on disk");
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
        // Nor had those stores a copy.
        fs::remove_file(path.with_file_name(COPY)).expect("there is one");
    }
    let error = store.result(&JobId::from("nightly")).map(drop);
    let Err(ClusterErrorKind::Store(error)) = error else {
        panic!("it cannot know: {error:?}");
    };
    assert!(error.contains("several jobs"), "{error}");
}

/// A store, and the problems that it tells.
fn telling(folder: &Path) -> (Store, mpsc::Receiver<String>) {
    let (sender, problems) = mpsc::channel();
    let say = move |problem| sender.send(problem).expect("the test listens");
    (Store::open(folder, say).expect("a store"), problems)
}

fn damage(path: &Path) {
    let mut bytes = fs::read(path).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).expect("it is written");
}

fn open_jobs(store: &Store) -> Vec<u64> {
    let open = store.unfinished().expect("a store").into_iter();
    open.map(|unfinished| unfinished.description.job).collect()
}

#[test]
fn a_damaged_checkpoint_is_set_aside_and_the_other_jobs_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, problems) = telling(folder.path());
    (1..=3).for_each(|job| add(&store, job));
    let path = job_folder(folder.path(), 2).join("checkpoint");
    damage(&path);
    assert_eq!(open_jobs(&store), [1, 3]);
    let problem = problems.try_recv().expect("it is reported");
    assert!(
        problem.contains("job-0000000000000002/checkpoint is damaged"),
        "{problem}"
    );
    assert!(path.with_file_name("checkpoint.damaged").exists());
    assert_eq!(open_jobs(&store), [1, 3], "once more");
    assert!(problems.try_recv().is_err(), "it is reported once");
}

#[test]
fn no_older_result_takes_the_place_of_a_damaged_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, problems) = telling(folder.path());
    for job in [1, 2] {
        add(&store, job);
        end(&store, job);
    }
    damage(&job_folder(folder.path(), 2).join("over"));
    assert_eq!(found(&store), None);
    assert!(problems
        .try_recv()
        .is_ok_and(|problem| problem.contains("over is damaged")));
    assert_eq!(found(&store), None, "once more");
    assert!(open_jobs(&store).is_empty(), "its state is gone");
}

#[test]
fn a_damaged_description_has_a_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, problems) = telling(folder.path());
    (1..=3).for_each(|job| add(&store, job));
    let path = |job, name| job_folder(folder.path(), job).join(name);
    fs::write(path(1, DESCRIPTION), "{").expect("it is written");
    assert_eq!(open_jobs(&store), [1, 2, 3]);
    let other = fs::read_to_string(path(2, DESCRIPTION)).expect("it is there");
    fs::write(path(2, DESCRIPTION), other.replace("nightly", "mightly")).expect("it is written");
    assert_eq!(open_jobs(&store), [1, 3], "either may be right");
    assert!(problems
        .try_recv()
        .is_ok_and(|problem| problem.contains("something else")));
}

/// The folder of the job is gone; a full disk is no other case.
#[test]
fn a_result_that_cannot_be_stored_is_told_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, problems) = telling(folder.path());
    add(&store, 1);
    fs::remove_dir_all(job_folder(folder.path(), 1)).expect("it was there");
    let (sender, receiver) = mpsc::channel();
    let then = move |result, stored| sender.send((result, stored)).expect("we wait");
    store.close(1, Ok(vec![7]), then);
    let (result, stored) = receiver.recv().expect("it is told");
    assert_eq!(result, Ok(vec![7]));
    assert!(stored.is_err_and(|error| error.contains("No such file")));
    drop(store);
    assert!(problems
        .recv()
        .is_ok_and(|problem| problem.contains("could not write")));
}

#[test]
fn only_the_user_can_read_a_store() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new").join("store");
    drop(open(&path));
    let mode = fs::metadata(&path).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
}

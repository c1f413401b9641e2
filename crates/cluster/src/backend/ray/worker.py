"""Answers requests in a Ray worker, with the library of the program.

Requests and answers are frames of heist, which only the library understands. This package
travels to the nodes with the library in it; the side-car uses the same code to try the
library before it ships it.
"""

import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import os
import pickle
import stat
import threading
import time
import weakref

import ray

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library.so")

# From this size on bytes go through the object store and are not copied into Python.
LARGE_BYTES = 1 << 20

# How long short calls that came together may run. One that runs then is waited for apart.
BATCH_PATIENCE_S = 0.02

# How often it is looked whether something was printed, and after how long nothing is an answer.
PRINTED_EVERY_S = 0.05
PRINTED_WITHIN_S = 10
# How much of that travels at once; the rest of more is left out.
PRINTED_BYTES_MAX = 8 << 20
# How much is read of what a process said before it died.
TAIL_BYTES = 1 << 14


class Block:
    """Bytes that whoever gets them from Ray reads where they lie."""

    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        return Block, (pickle.PickleBuffer(self.data),)


def block(data):
    """`data`, in the form in which that much travels best."""
    return data if len(data) < LARGE_BYTES else Block(data)


def data(value):
    """The bytes of a value that was perhaps a `Block`."""
    return value.data if isinstance(value, Block) else value


class Host:
    """An actor: a worker for calls, for a job or for the readings of a node."""

    def __init__(self):
        # One call at a time; what else is asked for need not wait for it.
        self.runner = concurrent.futures.ThreadPoolExecutor(1)
        # With calls that ran for longer than was thought.
        self.late = {}
        self.output = Output()

    def node(self):
        return here().node

    def whereabouts(self):
        """The node, and the files into which this prints, each with where that begins."""
        return here().node, [(file.path, file.begin) for file in self.output.files]

    def last_words(self, files, heard):
        """What a process of this node that is dead has printed into these files and nobody has
        heard, and the end of all that it said."""
        unheard = []
        for (path, begin), heard in zip(files, heard):
            unheard.append(read_end(path, max(begin, heard), PRINTED_BYTES_MAX))
        return unheard, read_end(*files[-1], TAIL_BYTES)

    def answer(self, request):
        return here().answer(data(request))

    def offer(self, ids, *objects):
        """Gives the library shared data."""
        for id, value in zip(ids, objects):
            here().offer(id, data(value))

    def job(self, heard, host, request):
        """Answers a request about the job of this worker, and says what was printed."""
        self.output.begin(host)
        answer = here().answer(data(request))
        return answer, self.output.take(heard)

    def printed(self, heard):
        """What was printed beyond `heard`, as soon as there is something, or after a while."""
        late = time.monotonic() + PRINTED_WITHIN_S
        while True:
            time.sleep(PRINTED_EVERY_S)
            printed = self.output.take(heard)
            if printed or time.monotonic() > late:
                return printed

    def call(self, heard, whose, request, ids, *objects):
        """Answers a call with these objects: how long that took, the answers, that none
        is missing, and what was printed."""
        self.offer(ids, *objects)
        library = here()
        began = time.monotonic()
        with self.output.of(whose):
            answer = library.answer(data(request))
        return time.monotonic() - began, [answer], False, self.output.take(heard)

    def calls(self, heard, number, requests):
        """Answers short calls one after the other, as `call` does, each with whose it is; but
        what has not begun in time is not begun. True if the first that has no answer is under
        way."""
        batch = Batch(requests, self.output)
        future = self.runner.submit(batch.run)
        concurrent.futures.wait([future], BATCH_PATIENCE_S)
        took_s, answers, is_running = batch.close()
        if is_running:
            self.late[number] = batch, future
        elif future.done():
            future.result()
        return took_s, answers, is_running, self.output.take(heard)

    def rest(self, heard, number):
        """Answers the call of that batch that was under way."""
        batch, future = self.late.pop(number)
        future.result()
        took_s = time.monotonic() - batch.began
        return took_s, batch.answers[-1:], False, self.output.take(heard)


class Output:
    """What this process prints. Ray lets it print into files, which are read from where this
    begins; how far that was heard is the length of each."""

    def __init__(self):
        self.lock = threading.Lock()
        self.files = [File(number) for number in (1, 2) if is_file(number)]
        # The call or job that prints now.
        self.whose = None

    def begin(self, whose):
        """What is printed from now on is somebody else's."""
        with self.lock:
            for file in self.files:
                file.mark(self.whose)
            self.whose = whose

    @contextlib.contextmanager
    def of(self, whose):
        self.begin(whose)
        try:
            yield
        finally:
            self.begin(None)

    def take(self, heard):
        """What was not heard: of which file, up to where, whose it is, and the bytes."""
        with self.lock:
            printed = []
            for number, file in enumerate(self.files):
                file.mark(self.whose)
                printed += [(number, *part) for part in file.take(heard[number])]
            return printed


def read_end(path, begin, bytes_max):
    """The last bytes behind `begin`, so many at most."""
    with open(path, "rb") as file:
        begin = max(begin, os.fstat(file.fileno()).st_size - bytes_max)
        return os.pread(file.fileno(), bytes_max, begin)


def is_file(number):
    return stat.S_ISREG(os.fstat(number).st_mode)


class File:
    """One of the files, with those who printed into it."""

    def __init__(self, number):
        self.file = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
        self.path = os.readlink(f"/proc/self/fd/{number}")
        self.begin = self.length = self.heard = os.fstat(self.file).st_size
        # Where the words of somebody end.
        self.ends = collections.deque()

    def mark(self, whose):
        """What has come since the last mark is theirs."""
        length = os.fstat(self.file).st_size
        if length > self.length:
            self.length = length
            self.ends.append((length, whose))

    def take(self, heard):
        while self.ends and self.ends[0][0] <= heard:
            self.heard = self.ends.popleft()[0]
        at, left = self.heard, PRINTED_BYTES_MAX
        for end, whose in self.ends:
            words = os.pread(self.file, min(end - at, left), at)
            left -= len(words)
            if at + len(words) < end:
                left_out = end - at - len(words)
                words += f"\n({left_out} bytes were left out; Ray's log files have them)\n".encode()
            yield end, whose, words
            at = end


class Batch:
    """Short calls, each with whose it is."""

    def __init__(self, requests, output):
        self.requests = requests
        self.output = output
        self.answers = []
        self.began = time.monotonic()
        self.is_running = False
        self.is_closed = False
        self.lock = threading.Lock()

    def run(self):
        self.began = time.monotonic()
        for whose, request in self.requests:
            with self.lock:
                if self.is_closed:
                    return
                self.is_running = True
            with self.output.of(whose):
                answer = here().answer(request)
            with self.lock:
                self.answers.append(answer)
                self.is_running = False

    def close(self):
        """No further one begins. How long one took, the answers, and whether one runs."""
        with self.lock:
            self.is_closed = True
            begun = len(self.answers) + self.is_running
            took_s = (time.monotonic() - self.began) / max(begun, 1)
            return took_s, list(self.answers), self.is_running


class Library:
    """The functions that `heist_cluster::export!` put into the library."""

    def __init__(self, path):
        loaded = ctypes.CDLL(path)
        self._answer = loaded.heist_cluster_answer
        self._free = loaded.heist_cluster_free
        self._offer = loaded.heist_cluster_offer
        self._name = loaded.heist_cluster_name
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self._answer.argtypes = [pointer, size, ctypes.POINTER(pointer), ctypes.POINTER(size)]
        self._free.argtypes = [pointer, size]
        self._offer.argtypes = [pointer, size, pointer, size]
        self._name.argtypes = [pointer, size]
        for function in (self._answer, self._free, self._name):
            function.restype = None
        self._offer.restype = ctypes.c_bool
        self.node = ""

    def set_node(self, node):
        self.node = node
        name = node.encode()
        self._name(name, len(name))

    def offer(self, id, value):
        name = id.encode()
        with address(value) as start:
            self._offer(name, len(name), start, len(value))

    def answer(self, request):
        """Waits for the answer, without Python's lock."""
        start, size = ctypes.c_void_p(), ctypes.c_size_t()
        try:
            if isinstance(request, bytes):
                self._answer(request, len(request), ctypes.byref(start), ctypes.byref(size))
            else:
                with address(request) as pointer:
                    length = len(request)
                    self._answer(pointer, length, ctypes.byref(start), ctypes.byref(size))
            if size.value < LARGE_BYTES:
                return ctypes.string_at(start, size.value)
            whole = (ctypes.c_char * size.value).from_address(start.value)
            weakref.finalize(whole, self._free, start.value, size.value)
            start.value = None
            return Block(memoryview(whole))
        finally:
            if start.value:
                self._free(start, size)


@functools.lru_cache(maxsize=None)
def here():
    """The library of this worker, which is loaded once and told where it is."""
    library = Library(LIBRARY)
    id = ray.get_runtime_context().get_node_id()
    library.set_node(names(ray.nodes()).get(id, id))
    return library


def names(nodes):
    """What each of Ray's nodes is called, by id: as `ray start --node-name` said, or its
    label `heist-node`, or by its address; by its id if living nodes would share the name."""
    called = {}
    for node in nodes:
        address = node["NodeManagerAddress"]
        name = node.get("NodeName")
        if not name or name == address:
            name = node.get("Labels", {}).get("heist-node") or address
        called[node["NodeID"]] = name
    living = [called[node["NodeID"]] for node in nodes if node["Alive"]]
    return {id: id if living.count(name) > 1 else name for id, name in called.items()}


class _Buffer(ctypes.Structure):
    """`Py_buffer` of Python's C interface."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


@contextlib.contextmanager
def address(value):
    """Where the bytes of `value` lie; they stay there meanwhile."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(value), ctypes.byref(buffer), 0)
    try:
        yield buffer.buf
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))

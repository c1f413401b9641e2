"""Answers requests in a Ray worker, with the library of the program.

Requests and answers are frames of heist, which only the library understands. This package
travels to the nodes with the library in it; the side-car uses the same code to try the
library before it ships it.
"""

import contextlib
import ctypes
import functools
import os
import pickle
import select
import signal
import struct
import threading
import weakref

import ray

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library.so")

# From this size on bytes go through the object store and are not copied into Python.
LARGE_BYTES = 1 << 20

# The magic of a frame and the lengths of its header and payload.
PREFIX = struct.Struct("<4sIQ")


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


def answer(request, ids=(), *objects):
    """Answers a call. The first of the objects have those ids; others come along because
    the call is to run near them."""
    library = here()
    for id, value in zip(ids, objects):
        library.offer(id, data(value))
    request = data(request)
    with cancellation().of(request):
        return library.answer(request)


class Host:
    """An actor: a worker of its own, for a job or for the readings of a node."""

    def node(self):
        return here().node

    def answer(self, request):
        return here().answer(data(request))


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
            # After the interrupt of a cancelled task too.
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


class Cancellation:
    """Tells the library that the running call is cancelled.

    Ray cancels a task with an interrupt of the main thread, which Python sees only when the
    library has returned. But the interrupt also puts a byte into a pipe at once, and a thread
    waits for that. Behind each call's request lies the request that cancels it.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._request = None
        self._pipe, told = os.pipe()
        os.set_blocking(self._pipe, False)
        os.set_blocking(told, False)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def of(self, request):
        with self._lock:
            # What came before this call was meant for another.
            self._told()
            self._request = request
        try:
            yield
        finally:
            with self._lock:
                self._request = None

    def _told(self):
        try:
            return signal.SIGINT in os.read(self._pipe, 64)
        except BlockingIOError:
            return False

    def _watch(self):
        while True:
            select.select([self._pipe], [], [])
            with self._lock:
                request = self._request if self._told() else None
                if request is not None:
                    _, header, payload = PREFIX.unpack_from(request)
                    here().answer(bytes(request[PREFIX.size + header + payload :]))


@functools.lru_cache(maxsize=None)
def cancellation():
    return Cancellation()


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

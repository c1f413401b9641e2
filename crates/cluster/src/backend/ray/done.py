"""What Ray has done for us, and what is to be answered because of it."""

import collections
import ctypes
import itertools
import queue
import threading
import traceback

# How many answers are sent at once.
BATCH_MAX = 256


# Words that the call or host `whose` printed, to the standard output (0) or error (1).
Printed = collections.namedtuple("Printed", "node whose stream")


class Done:
    """Results: each with the number to which it is the answer, or with a function that makes
    several answers of it, each of those with its number, or with whose words they are."""

    def __init__(self, fail):
        # Ends the side-car with an exception as its reason.
        self.fail = fail
        self.queue = queue.SimpleQueue()
        self.numbers = itertools.count()
        # Ray forgets what nobody holds.
        self.awaited = {}

    def begin(self, target, *arguments):
        """Runs that on a thread of its own. If it fails, some calls would never be answered,
        and nobody knows which: so the side-car ends."""

        def run():
            try:
                target(*arguments)
            except Exception as error:
                self.fail(error)

        threading.Thread(target=run, daemon=True).start()

    def put(self, whose, result):
        self.queue.put((None, whose, result, ()))

    def when_ready(self, reference, whose, owed=()):
        """Puts what Ray says when it is there. If `whose` is a function and fails, that is the
        answer to all that are `owed` one."""
        number = next(self.numbers)

        def completed(result):
            keep_thread_state()
            self.queue.put((number, whose, result, owed))

        self.awaited[number] = reference
        reference._on_completed(completed)

    def answers(self):
        """As many as there are, with their numbers; waits for one at least."""
        results = [self.queue.get()]
        while len(results) < BATCH_MAX and not self.queue.empty():
            results.append(self.queue.get())
        for number, whose, result, owed in results:
            self.awaited.pop(number, None)
            if callable(whose):
                try:
                    answers = whose(result)
                except Exception as error:
                    if not owed:
                        raise
                    answers = [(to, error) for to in owed]
                yield from answers
            elif whose is not None:
                yield whose, result


def told(error):
    """The kind and the words of an exception, even of one that cannot say its own."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()


STATE = threading.local()


def keep_thread_state():
    """Python makes a state for Ray's thread before each callback and drops it afterwards, at
    a seventh of this process's time; the thread keeps its first one from here on."""
    if not hasattr(STATE, "is_kept"):
        STATE.is_kept = True
        ctypes.pythonapi.PyGILState_Ensure()
